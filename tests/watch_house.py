"""What watches, on a database: for tests that look at its rows."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Table, select, update

from muster.model.watching import Event
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.tables import (
    alert,
    event_occurrence,
    event_raw,
    expectation,
    stage_aggregate,
    stage_aggregate_day,
    stage_aggregate_hour,
    workflow,
    workflow_node,
    workflow_run,
    workflow_version,
)
from muster.store.watch_due import DueExpectations
from muster.store.watch_feed import EventFeed
from muster.store.watch_intake import Taken
from muster.store.watch_rules import Rules
from muster.store.watched_graphs import WatchedGraphs
from muster.watch.graph import read_graph
from muster.watch.posting import TopicNames
from muster.watch.stages import Stage
from watched_trade import TRADE

NOON = datetime(2024, 6, 10, 12, 0, 0, tzinfo=UTC)
EVERY_STAGE = tuple(Stage)


class WatchHouse:
    """One instance that watches."""

    def __init__(
        self,
        database: Database,
        name: str = "here",
        stages: Sequence[Stage] = EVERY_STAGE,
        wanted: Sequence[str] = (),
        grace: timedelta = timedelta(minutes=1),
    ) -> None:
        self.database = database
        self.committers = [GroupCommitter(database), GroupCommitter(database)]
        graphs = WatchedGraphs()
        topics = TopicNames()
        self.feed = EventFeed(database, self.committers, Rules(graphs), stages, topics, lambda: wanted)
        self.due = DueExpectations(
            database, graphs, name, frozenset(stages), topics, lambda: wanted, grace, timedelta(days=7)
        )

    async def watch(self, document: dict[str, Any] | None = None) -> int:
        """Let a workflow be watched, or a further version of it; its version's id."""
        document = TRADE if document is None else document
        assert read_graph(document).graph is not None
        return await self.database.write(lambda connection: _watch(connection, document))

    async def take(self, *events: Event) -> Taken:
        return await self.feed.take(events)

    async def rows(self, table: Table, *order: str) -> list[dict[str, Any]]:
        wanted = select(table).order_by(
            *(table.c[name] for name in order or table.primary_key.columns.keys())
        )
        found = await self.database.read(lambda connection: connection.execute(wanted).all())
        return [dict(row._mapping) for row in found]

    async def runs(self) -> list[dict[str, Any]]:
        return await self.rows(workflow_run)

    async def expectations(self) -> list[dict[str, Any]]:
        return await self.rows(expectation)

    async def occurrences(self) -> list[dict[str, Any]]:
        return await self.rows(event_occurrence)

    async def raw(self) -> list[dict[str, Any]]:
        return await self.rows(event_raw)

    async def alerts(self) -> list[dict[str, Any]]:
        return await self.rows(alert)

    async def counts(self) -> list[dict[str, Any]]:
        return await self.rows(stage_aggregate)

    async def totals(self, group: str | None = None) -> dict[str, tuple[int, int, int, int]]:
        """In flight, completed, late and failed, by node; minutes, hours and days say the same."""
        found = [
            await self._totals(table, group)
            for table in (stage_aggregate, stage_aggregate_hour, stage_aggregate_day)
        ]
        assert found[0] == found[1] == found[2]
        return found[0]

    async def _totals(self, table: Table, group: str | None) -> dict[str, tuple[int, int, int, int]]:
        totals: dict[str, tuple[int, int, int, int]] = {}
        for row in await self.rows(table):
            if group in (None, row["group_dim_hash"]):
                held = totals.get(row["node_key"], (0, 0, 0, 0))
                new = (row["in_flight"], row["completed"], row["late"], row["failed"])
                totals[row["node_key"]] = tuple(a + b for a, b in zip(held, new, strict=True))  # type: ignore[assignment]
        return totals

    async def close(self) -> None:
        for committer in self.committers:
            await committer.close()


def event(type_: str, key: str = "TR123", at: datetime = NOON, **changes: Any) -> Event:
    """An event of the trade example, received when it happened."""
    made = Event(
        source_system="sys",
        event_id=uuid.uuid4().hex,
        event_type=type_,
        event_time=at,
        received_at=at,
        correlation_key=key,
        workflow_keys=None,
        group={"book": "EQD", "region": "NY"},
    )
    return replace(made, **changes)


def _watch(connection: Connection, document: dict[str, Any]) -> int:
    graph = read_graph(document).graph
    assert graph is not None
    at = datetime.now(UTC)
    there = connection.execute(select(workflow.c.id).where(workflow.c.key == document["key"])).scalar()
    workflow_id = there or uuid.uuid4().hex
    if there is None:
        row = {
            "id": workflow_id,
            "key": document["key"],
            "name": document["name"],
            "kind": "watched",
            "status": "ACTIVE",
            "workflow_type": "EVENT",
            "institute_id": "",
            "created_at": at,
            "updated_at": at,
        }
        insert_rows(connection, workflow, [row])
    of_workflow = workflow_version.c.workflow_id == workflow_id
    number = len(connection.execute(select(workflow_version.c.id).where(of_workflow)).all()) + 1
    version = {
        "workflow_id": workflow_id,
        "version": number,
        "definition": document,
        "checksum": "c",
        "created_by": "ops",
        "created_at": at,
    }
    insert_rows(connection, workflow_version, [version])
    wanted = select(workflow_version.c.id).where(of_workflow, workflow_version.c.version == number)
    version_id: int = connection.execute(wanted).scalar_one()
    nodes = [
        {
            "workflow_version_id": version_id,
            "node_key": node.key,
            "event_type": node.event_type,
            "node_order": order,
            "is_start_node": node.start,
            "is_end_node": node.terminal,
        }
        for order, node in enumerate(graph.nodes)
    ]
    insert_rows(connection, workflow_node, nodes)
    connection.execute(
        update(workflow).where(workflow.c.id == workflow_id).values(active_version_id=version_id)
    )
    return version_id
