"""Runs are kept at hand between the events of a key: whoever else changes them, nobody goes by what was."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, update

from muster.model.watching import Event, Run
from muster.store.database import Database, LookAgain
from muster.store.sets import change_held, finds_out
from muster.store.tables import workflow_run
from muster.store.watch_kept import BATCHES_WITHOUT, KeptRuns, Place
from watch_house import NOON, WatchHouse, event

KEYS = [f"TR{n}" for n in range(60)]


@pytest.fixture
async def houses(database: Database) -> AsyncIterator[tuple[WatchHouse, WatchHouse]]:
    made = WatchHouse(database, "here"), WatchHouse(database, "there")
    yield made
    for each in made:
        await each.close()


def of_all(type_: str, at: datetime = NOON) -> list[Event]:
    return [event(type_, key, at) for key in KEYS]


async def test_two_instances_take_turns_with_the_same_keys(houses: tuple[WatchHouse, WatchHouse]) -> None:
    here, there = houses
    await here.watch()
    for house, type_ in ((here, "TRADE_INGEST"), (there, "SYS2_VERIFIED"), (here, "SYS2_VERIFIED")):
        await house.take(*of_all(type_))
    await there.take(*of_all("SYS3_ACK"))
    assert {row["status"] for row in await here.runs()} == {"green"}
    assert [row["seq"] for row in await here.runs()] == [4] * len(KEYS)
    assert not await here.alerts()
    totals = await here.totals()
    assert totals["sys3-ack"] == (0, len(KEYS), 0, 0)


async def test_both_at_once_tell_one_story(houses: tuple[WatchHouse, WatchHouse]) -> None:
    here, there = houses
    await here.watch()
    await here.take(*of_all("TRADE_INGEST"))
    await asyncio.gather(here.take(*of_all("SYS2_VERIFIED")), there.take(*of_all("SYS2_VERIFIED")))
    assert len(await here.runs()) == len(KEYS)
    assert [row["seq"] for row in await here.runs()] == [3] * len(KEYS)


async def test_a_miss_elsewhere_is_not_overlooked(houses: tuple[WatchHouse, WatchHouse]) -> None:
    here, there = houses
    await here.watch()
    await here.take(*of_all("TRADE_INGEST"))
    while await there.due.fire(1_000):
        pass
    missed = len(await here.alerts())
    await here.take(*of_all("SYS2_VERIFIED", datetime.now(UTC)))
    # Late, as was counted with the miss; and no more.
    assert len(await here.alerts()) == missed == len(KEYS)
    assert (await here.totals())["sys2-verify"][2] == 2 * len(KEYS)


async def test_what_was_rolled_back_is_not_kept(
    houses: tuple[WatchHouse, WatchHouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = houses
    await here.watch()
    await here.take(*of_all("TRADE_INGEST"))
    broken = [True]

    def fail(*_: object) -> None:
        if broken and broken.pop():
            raise RuntimeError("the disk is not what it was")

    with monkeypatch.context() as patched:
        patched.setattr("muster.store.watch_intake.add_messages", fail)
        with pytest.raises(RuntimeError):
            await here.take(event("SYS3_ACK", KEYS[0]))
    # As often changed by now as it would be if that had been written.
    await there.take(event("SYS2_VERIFIED", KEYS[0]))
    await here.take(event("SYS2_VERIFIED", KEYS[0]))
    assert {row["status"] for row in await here.runs()} == {"green"}
    assert (await here.totals())["sys2-verify"] == (2 * len(KEYS) - 2, 2, 0, 0)


async def test_a_row_that_somebody_has_changed_is_not_written(houses: tuple[WatchHouse, WatchHouse]) -> None:
    here, _ = houses
    await here.watch()
    await here.take(event("TRADE_INGEST"))
    [run] = await here.runs()

    def work(connection: Connection) -> None:
        connection.execute(update(workflow_run).values(seq=workflow_run.c.seq + 1))
        row = {"id": run["id"], "seq": run["seq"], "status": "red"}
        if not finds_out(connection):
            return
        with pytest.raises(LookAgain):
            change_held(connection, workflow_run, [row], "id", "seq")
        change_held(connection, workflow_run, [{**row, "seq": run["seq"] + 1}], "id", "seq")

    await here.database.write(work)


def a_run(key: str, finished: bool = False) -> Run:
    over = NOON if finished else None
    return Run(1, 1, key, 1, "", None, "", NOON, NOON, finished_at=over)


def test_who_takes_a_run_has_it_alone() -> None:
    kept = KeptRuns(most=2)
    kept.give_back([a_run("a"), a_run("b"), a_run("c"), a_run("d", finished=True)])
    assert kept.take([(1, "a"), (1, "d")]) == {}
    [found] = kept.take([(1, "b"), (1, "b")]).values()
    assert found.correlation_key == "b"
    assert kept.take([(1, "b")]) == {}
    kept.forget([a_run("c")])
    assert kept.take([(1, "c")]) == {}


class Fading(OrderedDict[Place, Run]):
    """Whatever is looked for has gone by the next statement: another thread has made room."""

    def __contains__(self, place: object) -> bool:
        found = super().__contains__(place)
        self.clear()
        return found

    def __len__(self) -> int:
        found = super().__len__()
        self.clear()
        return found


def test_a_run_that_goes_while_it_is_looked_for_is_not_there() -> None:
    """As on SQLite, where runs are taken in one thread and given back in another."""
    kept = KeptRuns(most=0)
    kept._runs = Fading({(1, "a"): a_run("a"), (1, "b"): a_run("b")})
    assert kept.take([(1, "a"), (1, "b")]).keys() == {(1, "a"), (1, "b")}
    kept.give_back([a_run("c")])
    assert kept.take([(1, "c")]) == {}


def test_after_one_that_was_out_of_date_nothing_is_kept_for_a_while() -> None:
    kept = KeptRuns()
    kept.give_back([a_run("a")])
    kept.distrust()
    for _ in range(BATCHES_WITHOUT):
        assert kept.take([(1, "a")]) == {}
        kept.give_back([a_run("b")])
    assert kept.take([(1, "b")]).keys() == {(1, "b")}
