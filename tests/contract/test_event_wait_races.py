"""Two instances, each with connections of its own, receive the same events at the same moment, and a third
ends waits by their deadlines: each event is accepted by one, each wait comes to one end, each execution is
resumed by one, as the plainest model says."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection, select

from contract.test_event_wait_orders import DEADLINE, Case, cases, claim, fill, judge_waits, said
from databases import EVERY_KIND, MigratedUrls
from event_wait_reference import HAPPENINGS, KAFKA, Setting
from muster.engine.finishing import Finished
from muster.engine.openings import Closing
from muster.engine.owned import OwnedExecution
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.event_wait_records import EventWaitRepository
from muster.store.event_waits import expire_event_waits
from muster.store.lock_order import lock_begun
from muster.store.open import open_database
from muster.store.resuming import Receptions
from muster.store.tables import execution_signal, execution_wait_states

LEASE = timedelta(hours=1)
LATE = Closing((("wait", 1),), "late", at=DEADLINE)
# Several at once: on SQLite whoever writes is alone.
RACING = [kind for kind in EVERY_KIND if "sqlite" not in str(kind)]
ORDERS = {"postgresql": 6}
RACES = {"postgresql": 200}


class Racer:
    """An instance that receives events and takes up what goes on with them."""

    def __init__(self, database: Database, name: str) -> None:
        self.name, self.taken = name, list[str]()
        receptions = Receptions(GroupCommitter(database), name, LEASE)
        receptions.hand_to(self)
        self.waits = EventWaitRepository(database, receptions)

    def takes_as(self) -> str:
        return f"{self.name}/1"

    def take_up(self, taken: Sequence[OwnedExecution], asked: float) -> None:
        self.taken += [each.id for each in taken]

    def finish(self, owned: OwnedExecution) -> Finished | None:
        return None

    def has_finished(self, finished: Finished) -> None:
        raise AssertionError("nothing is finished here")

    async def receive(self, happened: Sequence[tuple[Case, str]], chance: Random) -> dict[str, str]:
        """What it is told of each, which it brings in an order of its own."""
        mine = chance.sample(happened, len(happened))
        verdicts = await self.waits.receive([case.event(what) for case, what in mine])
        return {case.id: said(verdict) for (case, _), verdict in zip(mine, verdicts, strict=True)}


@pytest.fixture(params=RACING)
def database_url(request: pytest.FixtureRequest, migrated_urls: MigratedUrls) -> str:
    return migrated_urls.of(request.param)


@pytest.fixture
async def racers(database: Database, database_url: str) -> AsyncIterator[tuple[Racer, Racer]]:
    other = open_database(database_url, data_dir=Path("unused"))
    yield Racer(database, "one"), Racer(other, "two")
    await other.close()


async def expire(database: Database, found: Sequence[Case]) -> None:
    """As whoever drives an execution whose time has come does."""

    def work(connection: Connection) -> None:
        lock_begun(connection, {each.id for each in found})
        for each in found:
            expire_event_waits(connection, each.id, LATE, DEADLINE)

    await database.write(work)


@pytest.mark.slow
async def test_each_order_comes_to_one_end_and_each_execution_is_taken_up_by_one(
    database: Database, racers: tuple[Racer, Racer]
) -> None:
    found, chance = cases(ORDERS.get(database.dialect_name, 1)), Random(7)
    await database.write(lambda connection: fill(connection, found))
    for place in range(len(HAPPENINGS)):
        happened = [(each, each.order[place]) for each in found if each.order[place] != "timeout"]
        late = [each for each in found if each.order[place] == "timeout"]
        one, two, _ = await asyncio.gather(
            *(racer.receive(happened, chance) for racer in racers), expire(database, late)
        )
        for each in late:
            each.model.happen("timeout")
        for each, what in happened:
            wanted = sorted([each.model.happen(what), each.model.happen(what)])
            assert sorted([one[each.id], two[each.id]]) == wanted, (each.setting, each.order, place)
    await database.write(lambda connection: judge_waits(connection, found))
    due = await database.write(lambda connection: [owned.id for owned in claim(connection, "three")])
    assert sorted([*racers[0].taken, *racers[1].taken, *due]) == sorted(each.id for each in found)


@pytest.mark.slow
async def test_of_the_last_event_and_the_deadline_one_wins(
    database: Database, racers: tuple[Racer, Racer]
) -> None:
    setting, chance = Setting("all", "fail", frozenset({KAFKA})), Random(7)
    found = [Case(number, setting, ()) for number in range(RACES.get(database.dialect_name, 40))]
    await database.write(lambda connection: fill(connection, found))
    await racers[0].receive([(each, "api") for each in found], chance)

    async def bring(part: Sequence[Case]) -> list[dict[str, str]]:
        last = [(each, "kafka") for each in part]
        return await asyncio.gather(*(racer.receive(last, chance) for racer in racers))

    async def end(part: Sequence[Case]) -> None:
        await asyncio.gather(*(expire(database, [each]) for each in chance.sample(part, len(part))))

    ends: list[str] = []
    for first in range(0, len(found), 10):
        part = found[first : first + 10]
        brought, _ = await asyncio.gather(bring(part), end(part))
        for each in part:
            told = sorted(answer[each.id] for answer in brought)
            assert told in (["DUPLICATE", "accepted"], ["NOT_WAITING", "NOT_WAITING"]), each.id
            ends.append("completed" if "accepted" in told else "timeout")
    waits = select(execution_wait_states.c.execution_id, execution_wait_states.c.status)
    status = dict(await database.read(lambda connection: connection.execute(waits).all()))  # type: ignore[arg-type]  # rows of two
    signals = select(execution_signal)
    rows = await database.read(lambda connection: connection.execute(signals).all())
    answers = {row.execution_id: row.payload["answer"]["status"] for row in rows}
    assert len(rows) == len(found), "each is told once"
    assert [answers[each.id] for each in found] == ends
    wanted = {"completed": "resuming", "timeout": "timeout"}
    assert [status[each.id] for each in found] == [wanted[end] for end in ends]
    taken = sorted([*racers[0].taken, *racers[1].taken])
    assert taken == sorted(each.id for each, end in zip(found, ends, strict=True) if end == "completed")
