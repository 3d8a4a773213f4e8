"""Random graphs and traces, run through what watches and through the reference: both have to say the same."""

import asyncio
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from sqlalchemy import Connection, Table, select

from clocks import FakeClock
from muster.model.watching import Event, WatchedGraph
from muster.store import watch_due
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.tables import (
    event_occurrence,
    expectation,
    stage_aggregate,
    stage_aggregate_day,
    stage_aggregate_hour,
    workflow_run,
)
from muster.watch.graph import read_graph
from watch_house import NOON, WatchHouse, event
from watch_reference import WORST, Flags, Happened, Story, told

BOOKS, REGIONS = ("EQD", "FX"), ("NY", "LN")
# In flight, completed, late and failed, by a group's hash, a node and the beginning of a span of time.
Cells = dict[tuple[str, str, datetime], list[int]]
TABLES = {
    stage_aggregate: {"second": 0, "microsecond": 0},
    stage_aggregate_hour: {"minute": 0, "second": 0, "microsecond": 0},
    stage_aggregate_day: {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
}


def random_document(chance: random.Random, key: str) -> dict[str, Any]:
    """A graph without circles: edges lead from earlier nodes to later ones."""
    count = chance.randint(2, 5)
    nodes = [{"key": f"n{i}", "eventType": f"{key}.{i}"} for i in range(count)]
    nodes[0]["start"] = True  # type: ignore[assignment]
    nodes[-1]["terminal"] = True  # type: ignore[assignment]
    edges = []
    for target in range(1, count):
        sources = chance.sample(range(target), k=min(target, chance.choice([1, 1, 2])))
        edges += [_edge(chance, source, target) for source in sources]
    return {
        "name": key,
        "key": key,
        "graph": {"nodes": nodes, "edges": edges},
        "optionalEdges": chance.choice(["ignore", "watch"]),
        "groupDimensions": chance.choice([[], ["book"], ["book", "region"]]),
    }


def _edge(chance: random.Random, source: int, target: int) -> dict[str, Any]:
    edge = {
        "from": f"n{source}",
        "to": f"n{target}",
        "expectedCount": chance.choice([1, 1, 1, 2, 3]),
        "optional": chance.random() < 0.2,
        "severity": chance.choice(["amber", "red"]),
    }
    has_latency, has_deadline = chance.choice([(True, False), (True, False), (True, True), (False, True)])
    if has_latency:
        edge["maxLatencySec"] = chance.choice([10, 30, 60])
    if has_deadline:
        edge["absoluteDeadline"] = chance.choice(["11:59Z", "12:00Z", "12:01Z", "13:02+01:00", "23:59Z"])
        edge["deadlineRollover"] = chance.random() < 0.3
    return edge


def hash_of(group: tuple[tuple[str, str], ...]) -> str:
    return hashlib.sha256("|".join(f"{name}={value}" for name, value in group).encode()).hexdigest()[:32]


class Arena:
    """One database for many traces, by a clock that moves when it is told to."""

    def __init__(self, database: Database | None = None) -> None:
        self.clock = FakeClock(NOON)
        self.is_own = database is None
        self.database = inline_database(clock=self.clock) if database is None else database

    async def open(self) -> None:
        if self.is_own:
            await migrate(self.database)

    async def close(self) -> None:
        if self.is_own:
            await self.database.close()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """By this clock, though the database has another."""
        with mock.patch.object(watch_due, "now", self._now):
            yield

    def _now(self, _: Connection) -> datetime:
        return self.clock.now()

    async def run(self, seed: int) -> None:
        """Raises `AssertionError` where the two disagree."""
        with self.timed():
            await Trace(self, seed).run()


class Trace:
    def __init__(self, arena: Arena, seed: int) -> None:
        self.clock, self.database = arena.clock, arena.database
        self.chance, self.key = random.Random(seed), f"w{seed}"
        self.document = random_document(self.chance, self.key)
        graph = read_graph(self.document).graph
        assert graph is not None
        self.graph: WatchedGraph = graph
        self.keys = [f"{self.key}/{n}" for n in range(self.chance.randint(1, 3))]
        self.traces: dict[str, list[Happened]] = {each: [] for each in self.keys}
        # All that has come, by its name.
        self.known: dict[str, Event] = {}

    async def run(self) -> None:
        chance, house = self.chance, WatchHouse(self.database)
        version = await house.watch(self.document)
        for _ in range(chance.randint(3, 12)):
            self.clock.forward(seconds=chance.choice([0, 1, 5, 20, 45]))
            if chance.random() < 0.25:
                while await house.due.fire(chance.choice([1, 3, 100])):
                    pass
                for trace in self.traces.values():
                    trace.append(Happened(self.clock.now()))
                await self._recount(version)
                continue
            batch = self._batch()
            await self._take(house, batch)
            await self._recount(version)
            if chance.random() < 0.3:
                # Again, as after a crash: perhaps by another process.
                await house.close()
                house = WatchHouse(self.database)
                assert all((await house.feed.take(batch)).duplicates)
        await self._compare(house, version)
        await house.close()

    def _batch(self) -> list[Event]:
        """New events, and among them some that came before, or come twice in it."""
        chance = self.chance
        batch = [self._event(chance.choice(self.keys)) for _ in range(chance.randint(1, 5))]
        for again in (batch, [*self.known.values()]):
            if again and chance.random() < 0.3:
                batch.insert(
                    chance.randint(0, len(batch)), replace(chance.choice(again), received_at=self.clock.now())
                )
        return batch

    async def _take(self, house: WatchHouse, batch: Sequence[Event]) -> None:
        duplicates = []
        for each in batch:
            duplicates.append(each.event_id in self.known)
            if not duplicates[-1]:
                self.known[each.event_id] = each
                node = self.graph.by_event_type[each.event_type].key
                happened = Happened(each.received_at, node, each.event_time, self._group(each))
                self.traces[each.correlation_key].append(happened)
        taken = await house.feed.take(batch)
        assert list(taken.duplicates) == duplicates

    def _group(self, each: Event) -> tuple[tuple[str, str], ...]:
        given = each.group or {}
        wanted = sorted(self.document["groupDimensions"])
        return tuple((name, str(given[name])) for name in wanted if name in given)

    def _event(self, key: str) -> Event:
        chance = self.chance
        # It may have been received a while before it is dealt with.
        at = self.clock.now() - timedelta(seconds=chance.choice([0, 0, 0, 3, 70]))
        # Mostly onwards; now and then from the future, or long ago.
        nodes = self.document["graph"]["nodes"]
        drift = chance.choice([0, 0, 0, 2, 20, -30])
        groups = [{"book": chance.choice(BOOKS), "region": chance.choice(REGIONS)}, {"region": "NY"}, None]
        return replace(
            event(chance.choice(nodes)["eventType"], key, at, group=chance.choice(groups)),
            event_id=f"{chance.getrandbits(64):x}",
            event_time=at - timedelta(seconds=drift),
        )

    async def _recount(self, version: int) -> None:
        """Whatever has come so far: every minute, hour and day is what recounting gives, from the rows."""

        def work(connection: Connection) -> None:
            for table, floor in TABLES.items():
                counted, recounted = (
                    _counted(connection, table, version),
                    _recounted(connection, version, floor),
                )
                assert counted == recounted, f"{table.name}: {counted} != {recounted}"

        await self.database.read(work)

    async def _compare(self, house: WatchHouse, version: int) -> None:
        stories = {key: told(self.graph, trace) for key, trace in self.traces.items()}
        runs = [run for run in await house.runs() if run["workflow_version_id"] == version]
        assert {
            (run["correlation_key"], run["run_no"]): (
                run["status"],
                run["finished_at"] is not None,
                run["group_dim_hash"],
            )
            for run in runs
        } == {
            (key, number): (WORST[story.worst].value, story.finished, hash_of(story.group))
            for key, found in stories.items()
            for number, story in enumerate(found, 1)
        }
        await self._compare_counts(house, version, [story for found in stories.values() for story in found])
        self._compare_flags(await house.occurrences(), runs, stories)
        self._compare_alerts(await house.alerts(), version, stories)

    async def _compare_counts(self, house: WatchHouse, version: int, stories: Sequence[Story]) -> None:
        expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for story in stories:
            for node in (each.key for each in self.graph.nodes):
                told_of = (story.in_flight(node), story.came[node], story.late[node], story.violations[node])
                for place, number in enumerate(told_of):
                    expected[hash_of(story.group), node][place] += number
        found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        rows = await self.database.read(lambda connection: _counted(connection, stage_aggregate, version))
        for (group, node, _), numbers in rows.items():
            for place, number in enumerate(numbers):
                found[group, node][place] += number
        assert _nonzero(found) == _nonzero(expected)

    def _compare_flags(
        self, rows: list[dict[str, Any]], runs: list[dict[str, Any]], stories: dict[str, Any]
    ) -> None:
        """Of every event that came, in the order of its run."""
        found: dict[tuple[str, int], list[Flags]] = {}
        places = {run["id"]: (run["correlation_key"], run["run_no"]) for run in runs}
        for row in rows:
            if place := places.get(row["workflow_run_id"]):
                names = ("late", "counted_late", "order_violation", "clamped")
                flags = Flags(row["node_key"], *(bool(row[name]) for name in names))
                found.setdefault(place, []).append(flags)
        assert found == {
            (key, number): story.flags
            for key, each in stories.items()
            for number, story in enumerate(each, 1)
        }

    def _compare_alerts(self, alerts: list[dict[str, Any]], version: int, stories: dict[str, Any]) -> None:
        """Of a key's runs, each node has one alert."""
        found = {
            (row["correlation_key"], row["node_key"]): (
                row["reason"],
                row["count"],
                row["severity"],
                row["state"],
            )
            for row in alerts
            if row["workflow_version_id"] == version
        }
        assert found == {
            (key, node): (reason, count, WORST[bad].value, "open" if runs[0].is_open[node] else "resolved")
            for key, runs in stories.items()
            for node, (reason, count, bad) in (runs[0].alerts if runs else {}).items()
        }


def _counted(connection: Connection, table: Table, version: int) -> Cells:
    c = table.c
    columns = (c.group_dim_hash, c.node_key, c.bucket_start, c.in_flight, c.completed, c.late, c.failed)
    rows = connection.execute(select(*columns).where(c.workflow_version_id == version))
    return _nonzero({tuple(row[:3]): list(row[3:]) for row in rows})


def _recounted(connection: Connection, version: int, floor: dict[str, int]) -> Cells:
    """In flight is what is pending, and what was missed and has not arrived; but not over optional edges."""
    cells: Cells = defaultdict(lambda: [0, 0, 0, 0])
    for table in (expectation, event_occurrence):
        chosen = select(table, workflow_run.c.group_dim_hash).join(
            workflow_run, workflow_run.c.id == table.c.workflow_run_id
        )
        for row in connection.execute(chosen.where(workflow_run.c.workflow_version_id == version)):
            for node, at, *numbers in _of_event(row) if table is event_occurrence else _of_expectation(row):
                if at is not None:
                    cell = cells[row.group_dim_hash, node, at.replace(**floor)]
                    for place, number in enumerate(numbers):
                        cell[place] += number
    return _nonzero(cells)


def _of_event(row: Any) -> Iterator[tuple[Any, ...]]:
    yield row.node_key, row.received_at, 0, 1, int(row.counted_late), int(row.order_violation)


def _of_expectation(row: Any) -> Iterator[tuple[Any, ...]]:
    yield row.to_node_key, row.created_at, int(not row.optional), 0, 0, 0
    yield row.to_node_key, row.fired_at, 0, 0, 1, 0
    yield row.to_node_key, row.cleared_at, -int(not row.optional), 0, 0, 0


def _nonzero(cells: dict[Any, list[int]]) -> dict[Any, list[int]]:
    return {cell: numbers for cell, numbers in cells.items() if any(numbers)}


async def run_seeds(seeds: Sequence[int], every: int = 50, database: Database | None = None) -> None:
    """A new database now and then, unless one is given: looking at all rows of a large one takes long."""
    for start in range(0, len(seeds), every):
        arena = Arena(database)
        await arena.open()
        for seed in seeds[start : start + every]:
            try:
                await arena.run(seed)
            except BaseException as wrong:
                wrong.add_note(f"with the seed {seed}")
                raise
        await arena.close()


if __name__ == "__main__":
    import sys

    first, count = int(sys.argv[1]), int(sys.argv[2])
    asyncio.run(run_seeds(range(first, first + count)))
    print(f"{count} traces, from the seed {first} on: the reference says the same.")  # noqa: T201 - a command
