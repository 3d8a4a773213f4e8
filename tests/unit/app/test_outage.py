"""An outage of the database: two lines in the log, and nobody waits for one that answers nobody."""

import asyncio
from typing import Any

import pytest
import structlog

from muster.app import watched_database
from muster.app.watched_database import CALM_SECONDS, DOUBT_SECONDS, PATIENCE_SECONDS, WatchedDatabase
from muster.store.database import Unavailable


class Shaky:
    dialect_name = "shaky"

    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def write(self, work: Any, single: bool = False) -> Any:
        self.asked += 1
        await self.answers.wait()
        if self.away:
            raise Unavailable("connection refused")
        return None

    read = write

    async def close(self) -> None: ...


class Watched:
    def __init__(self) -> None:
        self.now, self.step = 0.0, 0.0
        self.shaky = Shaky()
        self.database = WatchedDatabase(self.shaky, self.seconds)

    def seconds(self) -> float:
        self.now += self.step
        return self.now

    async def ask(self, times: int) -> None:
        for _ in range(times):
            for asked in (self.database.write, self.database.read):
                try:
                    await asked(lambda connection: None)
                except Unavailable:
                    assert self.shaky.away


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_an_outage_is_a_line_at_its_beginning_and_one_at_its_end(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        await watched.ask(3)
        watched.shaky.away = True
        await watched.ask(500)
        watched.now = 12.0
        await watched.ask(500)
        watched.shaky.away = False
        watched.now += CALM_SECONDS + 1
        await watched.ask(3)
    assert [line["event"] for line in lines] == ["database unavailable", "database is back"]
    assert lines[0]["reason"] == "connection refused"
    assert (lines[1]["seconds"], lines[1]["failures"]) == (12.0, 2000)


async def test_an_answer_in_between_does_not_end_an_outage(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(10):
            watched.now += 0.5
            watched.shaky.away = True
            await watched.ask(1)
            watched.shaky.away = False
            await watched.ask(1)
    assert [line["event"] for line in lines] == ["database unavailable"]


async def test_the_next_outage_is_told_of_again(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            watched.shaky.away = True
            await watched.ask(1)
            watched.shaky.away = False
            watched.now += CALM_SECONDS + 1
            await watched.ask(1)
    assert len(lines) == 4


def nothing(connection: object) -> None: ...


async def test_a_database_that_answers_nobody_is_not_waited_for(watched: Watched) -> None:
    watched.shaky.answers.clear()
    waiting = asyncio.create_task(watched.database.read(nothing))
    await asyncio.sleep(0)
    watched.now += PATIENCE_SECONDS - 1
    patient = asyncio.create_task(watched.database.write(nothing))
    await asyncio.sleep(0)
    watched.now += 2
    doubtful = asyncio.create_task(watched.database.write(nothing))
    await asyncio.sleep(0)
    watched.now += DOUBT_SECONDS + 0.1
    for asked in (watched.database.read, watched.database.write):
        with pytest.raises(Unavailable, match="answers nobody"):
            await asked(nothing)
    assert watched.shaky.asked == 3
    watched.shaky.answers.set()
    await asyncio.gather(waiting, patient, doubtful)
    await watched.database.read(nothing)
    assert watched.shaky.asked == 4, "it answers, so it is asked again"


async def test_a_process_that_slept_does_not_take_the_database_for_silent(watched: Watched) -> None:
    """What it was answered meanwhile it hears a moment later than those who ask now."""
    for _ in range(3):
        watched.shaky.answers.clear()
        waiting = asyncio.create_task(watched.database.read(nothing))
        await asyncio.sleep(0)
        watched.now += 3600
        asking = [asyncio.create_task(watched.database.write(nothing)) for _ in range(3)]
        await asyncio.sleep(0)
        watched.now += DOUBT_SECONDS / 2
        watched.shaky.answers.set()
        await asyncio.gather(waiting, *asking)


async def test_once_it_was_silent_one_at_a_time_finds_out_whether_it_still_is(watched: Watched) -> None:
    watched.shaky.answers.clear()
    first = asyncio.create_task(watched.database.read(nothing))
    await asyncio.sleep(0)
    watched.now += PATIENCE_SECONDS + 1
    watched.shaky.away = True
    watched.shaky.answers.set()
    with pytest.raises(Unavailable, match="refused"):
        await first
    watched.shaky.answers.clear()
    probe = asyncio.create_task(watched.database.read(nothing))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="answers nobody"):
        await watched.database.read(nothing)
    watched.shaky.away = False
    watched.shaky.answers.set()
    await probe
    await asyncio.gather(*(watched.database.read(nothing) for _ in range(3)))


async def test_a_slow_statement_hurts_nobody_while_others_are_answered(watched: Watched) -> None:
    watched.shaky.answers.clear()
    slow = asyncio.create_task(watched.database.read(nothing))
    await asyncio.sleep(0)
    watched.shaky.answers = asyncio.Event()
    watched.shaky.answers.set()
    for _ in range(10):
        watched.now += PATIENCE_SECONDS - 1
        await watched.database.read(nothing)
    slow.cancel()


async def test_a_connection_lost_alone_refuses_nobody_else(watched: Watched) -> None:
    await watched.database.read(nothing)
    watched.shaky.away = True
    await watched.ask(1)
    watched.shaky.away = False
    await asyncio.gather(*(watched.database.read(nothing) for _ in range(3)))


async def test_a_read_that_waits_already_is_given_up_too(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_database, "LOOKS", (0.0, 0.0))
    watched.shaky.answers.clear()
    waiting = asyncio.create_task(watched.database.read(nothing))
    await asyncio.sleep(0)
    watched.step = PATIENCE_SECONDS + DOUBT_SECONDS + 1
    with pytest.raises(Unavailable, match="answers nobody"):
        await waiting


async def test_a_read_that_takes_a_while_to_be_given_up_is_given_up_once(watched: Watched) -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    letting_go, may_go = asyncio.Event(), asyncio.Event()

    async def read(work: Any, single: bool = False) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            letting_go.set()
            await may_go.wait()
            raise

    watched.shaky.read = read  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watched_database, "LOOKS", (0.0, 0.0, 0.01))
        watched.now += PATIENCE_SECONDS + 1
        watched.step = DOUBT_SECONDS + 1
        asked = asyncio.create_task(watched.database.read(lambda _: None))
        await asyncio.sleep(0)
        watched.now += PATIENCE_SECONDS + 1
        await letting_go.wait()
        await asyncio.sleep(0.05)
        may_go.set()
        with pytest.raises(Unavailable):
            await asked
    assert not faults
