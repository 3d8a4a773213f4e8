"""Random graphs and traces, run through what watches and through the reference: both have to say the same."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, text

from clocks import FakeClock
from muster.model.watching import Event
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.watch.graph import read_graph
from watch_house import NOON, WatchHouse, event
from watch_reference import WORST, Flags, Happened, told

_COUNTED = text(
    """SELECT node_key AS node, sum(in_flight), sum(completed), sum(late), sum(failed)
       FROM stage_aggregate WHERE workflow_version_id = :version GROUP BY node_key"""
)
# In flight is what is pending, and what was missed and has not arrived; but not over optional edges.
_RECOUNTED = text(
    """SELECT node, sum(in_flight), sum(completed), sum(late), sum(failed) FROM (
         SELECT e.to_node_key AS node, NOT e.optional AND e.status <> 'cleared' AS in_flight, 0 AS completed,
                e.fired_at IS NOT NULL AS late, 0 AS failed
         FROM expectation e JOIN workflow_run r ON r.id = e.workflow_run_id
         WHERE r.workflow_version_id = :version
         UNION ALL
         SELECT o.node_key, 0, 1, o.counted_late, o.order_violation
         FROM event_occurrence o JOIN workflow_run r ON r.id = o.workflow_run_id
         WHERE r.workflow_version_id = :version
       ) AS every GROUP BY node
       HAVING sum(in_flight) <> 0 OR sum(completed) <> 0 OR sum(late) <> 0 OR sum(failed) <> 0"""
)


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
    }


def _edge(chance: random.Random, source: int, target: int) -> dict[str, Any]:
    return {
        "from": f"n{source}",
        "to": f"n{target}",
        "maxLatencySec": chance.choice([10, 30, 60]),
        "expectedCount": chance.choice([1, 1, 1, 2, 3]),
        "optional": chance.random() < 0.2,
        "severity": chance.choice(["amber", "red"]),
    }


@dataclass(frozen=True)
class Step:
    """What comes at once: events, each perhaps more than once, or a look at the clock."""

    events: Sequence[Event]


class Arena:
    """One database for many traces, by a clock that moves when it is told to."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOON)
        self.database = inline_database(clock=self.clock)

    async def open(self) -> None:
        await migrate(self.database)

    async def run(self, seed: int) -> None:
        """Raises `AssertionError` where the two disagree."""
        chance = random.Random(seed)
        key = f"w{seed}"
        document = random_document(chance, key)
        graph = read_graph(document).graph
        assert graph is not None
        house = WatchHouse(self.database)
        version = await house.watch(document)
        keys = [f"{key}/{n}" for n in range(chance.randint(1, 3))]
        traces: dict[str, list[Happened]] = {each: [] for each in keys}
        for _ in range(chance.randint(3, 12)):
            self.clock.forward(seconds=chance.choice([0, 1, 5, 20, 45]))
            if chance.random() < 0.25:
                while await house.due.fire(chance.choice([1, 3, 100])):
                    pass
                for trace in traces.values():
                    trace.append(Happened(self.clock.now()))
                await self._recount(version)
                continue
            batch = [self._event(chance, document, chance.choice(keys)) for _ in range(chance.randint(1, 5))]
            for each in batch:
                node = graph.by_event_type[each.event_type].key
                traces[each.correlation_key].append(Happened(each.received_at, node, each.event_time))
            await house.feed.take(batch)
            await self._recount(version)
            if chance.random() < 0.3:
                # Again, as after a crash: perhaps by another process.
                await house.close()
                house = WatchHouse(self.database)
                assert all((await house.feed.take(batch)).duplicates)
        await self._compare(house, graph, version, traces)
        await house.close()

    async def _recount(self, version: int) -> None:
        """Whatever has come so far: counts are what recounting gives, by node."""

        def work(connection: Connection) -> None:
            counted = {row.node: tuple(row)[1:] for row in connection.execute(_COUNTED, {"version": version})}
            recounted = {
                row.node: tuple(row)[1:] for row in connection.execute(_RECOUNTED, {"version": version})
            }
            assert counted == recounted, f"{counted} != {recounted}"

        await self.database.read(work)

    def _event(self, chance: random.Random, document: dict[str, Any], key: str) -> Event:
        at = self.clock.now()
        # Mostly onwards; now and then from the future, or long ago.
        nodes = document["graph"]["nodes"]
        made = event(chance.choice(nodes)["eventType"], key, at, group=None)
        drift = chance.choice([0, 0, 0, 2, 20, -30])
        return Event(
            made.source_system,
            f"{chance.getrandbits(64):x}",
            made.event_type,
            at - timedelta(seconds=drift),
            at,
            key,
        )

    async def _compare(
        self, house: WatchHouse, graph: Any, version: int, traces: dict[str, list[Happened]]
    ) -> None:
        stories = {key: told(graph, trace) for key, trace in traces.items()}
        every = [story for found in stories.values() for story in found]
        runs = [run for run in await house.runs() if run["workflow_version_id"] == version]
        assert {
            (run["correlation_key"], run["run_no"]): (run["status"], run["finished_at"] is not None)
            for run in runs
        } == {
            (key, number): (WORST[story.worst].value, story.finished)
            for key, found in stories.items()
            for number, story in enumerate(found, 1)
        }
        expected = {
            node.key: (
                sum(story.in_flight(node.key) for story in every),
                sum(story.came[node.key] for story in every),
                sum(story.late[node.key] for story in every),
                sum(story.violations[node.key] for story in every),
            )
            for node in graph.nodes
        }
        rows = [row for row in await house.counts() if row["workflow_version_id"] == version]
        counted: dict[str, Counter[str]] = {node.key: Counter() for node in graph.nodes}
        for row in rows:
            for name in ("in_flight", "completed", "late", "failed"):
                counted[row["node_key"]][name] += row[name]
        found_counts = {
            node: (c["in_flight"], c["completed"], c["late"], c["failed"]) for node, c in counted.items()
        }
        assert found_counts == expected
        self._compare_flags(await house.occurrences(), runs, stories)
        self._compare_alerts(await house.alerts(), version, stories)

    def _compare_flags(
        self, rows: list[dict[str, Any]], runs: list[dict[str, Any]], stories: dict[str, Any]
    ) -> None:
        """Of every event that came, in the order of its run."""
        found: dict[tuple[str, int], list[Flags]] = {}
        places = {run["id"]: (run["correlation_key"], run["run_no"]) for run in runs}
        for row in rows:
            if place := places.get(row["workflow_run_id"]):
                told = ("late", "counted_late", "order_violation", "clamped")
                flags = Flags(row["node_key"], *(bool(row[name]) for name in told))
                found.setdefault(place, []).append(flags)
        assert found == {
            (key, number): story.flags
            for key, each in stories.items()
            for number, story in enumerate(each, 1)
        }

    def _compare_alerts(self, alerts: list[dict[str, Any]], version: int, stories: dict[str, Any]) -> None:
        """Of a key's runs, each node has one alert."""
        found = {
            (row["correlation_key"], row["node_key"]): (row["reason"], row["count"], row["state"])
            for row in alerts
            if row["workflow_version_id"] == version
        }
        assert found == {
            (key, node): (reason, count, "open" if runs[0].is_open[node] else "resolved")
            for key, runs in stories.items()
            for node, (reason, count) in (runs[0].alerts if runs else {}).items()
        }


async def run_seeds(seeds: Sequence[int], every: int = 50) -> None:
    """A new database now and then: looking at all rows of a large one takes long."""
    for start in range(0, len(seeds), every):
        arena = Arena()
        await arena.open()
        for seed in seeds[start : start + every]:
            try:
                await arena.run(seed)
            except BaseException as wrong:
                wrong.add_note(f"with the seed {seed}")
                raise
        await arena.database.close()


if __name__ == "__main__":
    import sys

    first, count = int(sys.argv[1]), int(sys.argv[2])
    asyncio.run(run_seeds(range(first, first + count)))
    print(f"{count} traces, from the seed {first} on: the reference says the same.")  # noqa: T201 - a command
