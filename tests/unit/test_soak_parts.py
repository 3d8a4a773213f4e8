"""What a soak is made of: troubles that follow from a seed, a line that can be slow, a table of thirds."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from itertools import islice

from soak.faults import ROUND, Fault, troubles
from soak.lines import line_to
from soak.samples import Sample, Tally
from soak.soak import slowed
from soak.table import Stretch, table


def test_a_round_has_every_fault_as_often_as_it_is_its_share() -> None:
    round_ = sum(ROUND.values())
    first = list(islice(troubles(7, 4, 3.0, 4.0, set(Fault)), round_))
    assert Counter(each.fault for each in first) == ROUND
    assert first == list(islice(troubles(7, 4, 3.0, 4.0, set(Fault)), round_))
    assert [each.at for each in first] == sorted(each.at for each in first)


def test_the_first_instance_is_never_ended_and_what_is_not_possible_never_happens() -> None:
    many = list(islice(troubles(7, 4, 3.0, 4.0, set(Fault) - {Fault.DISK_FULL}), 500))
    ended = {each.target for each in many if each.fault in (Fault.KILL, Fault.END)}
    assert ended == {1, 2, 3}
    assert Fault.DISK_FULL not in {each.fault for each in many}


async def test_a_line_carries_bytes_in_their_order_late_or_not_at_all_for_a_while() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while word := await reader.readline():
            writer.write(word.upper())
        writer.close()

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(await asyncio.start_server(shout, "127.0.0.1", 0))
        line = await stack.enter_async_context(line_to(server.sockets[0].getsockname()[1]))
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"one\n")
        assert await reader.readline() == b"ONE\n"
        line.delay = 0.05
        began = asyncio.get_running_loop().time()
        writer.write(b"two\n")
        assert await reader.readline() == b"TWO\n"
        assert asyncio.get_running_loop().time() - began >= 0.1, "there and back"
        line.be_silent()
        writer.write(b"three\n")
        answer = asyncio.create_task(reader.readline())
        assert not (await asyncio.wait([answer], timeout=0.2))[0]
        line.be_well()
        assert await answer == b"THREE\n"
        writer.close()


async def test_whoever_connects_by_a_line_to_nobody_is_hung_up_on() -> None:
    async with line_to(1) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        assert await reader.read() == b""
        writer.close()


def test_the_table_compares_the_first_third_with_the_last() -> None:
    samples = [Sample(at, 1.0 if at < 50 else 2.0) for at in range(90)]
    told = table(Stretch(0, 90), [Tally("work", 100, 90, samples)], {"memory": []}, {"killed": (3, 12)})
    [work] = [line.split() for line in told.splitlines() if line.startswith("work ") and "100" in line]
    assert work == ["work", "100", "90", "1.0", "1.000", "1.000", "2.000", "2.000"]
    assert ["killed", "3", "12"] in [line.split() for line in told.splitlines()]


def test_work_that_takes_ever_longer_is_found_and_what_a_fault_delays_now_and_then_is_not() -> None:
    stretch = Stretch(0, 90)
    growing = Tally("growing", 90, 90, [Sample(at, 0.5 + at / 9) for at in range(90)])
    delayed = Tally("delayed", 90, 90, [Sample(at, 30.0 if at % 3 == 0 else 0.5) for at in range(90)])
    few = Tally("few", 2, 2, [Sample(1, 0.1), Sample(80, 9.0)])
    assert [each.partition(":")[0] for each in slowed(stretch, [growing, delayed, few])] == ["growing"]
