"""Everything that is kept of one execution, or of one item, for whoever takes it along."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Row, Select, Table, select, union_all

from muster.engine.journal import JournalRow
from muster.model.aside import asides_in, filled, with_asides
from muster.model.json import Json, JsonObject
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.event_waits import received_of
from muster.store.journal import journal_of
from muster.store.large_values import read_values
from muster.store.tables import (
    ID_LENGTH,
    NAME_LENGTH,
    alert,
    approval,
    audit_log,
    event_occurrence,
    event_raw,
    execution_wait_states,
    expectation,
    external_task,
    node_execution,
    workflow,
    workflow_execution,
    workflow_kafka_commands,
    workflow_run,
    workflow_version,
)
from muster.store.types import is_storable

E, J, R, W = workflow_execution.c, node_execution.c, workflow_run.c, event_raw.c
V = workflow_version.c


class TooMuch(Exception):
    """There is more than fits into one file."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that reached an execution, when, and for which visit."""

    at: datetime
    kind: str
    node: str | None
    visit: int | None
    name: str
    data: Json


@dataclass(frozen=True, slots=True)
class KeptExecution:
    """An execution with its journal. `row` are the columns of the execution, its workflow's key and version,
    and the version's document; large values are in their places."""

    row: Mapping[str, Any]
    at: datetime
    journal: Sequence[JournalRow]
    reached: Sequence[Reached]


@dataclass(frozen=True, slots=True)
class KeptItem:
    """The runs of one key on one version of a watched workflow, the newest of those that it came through; the
    events since the first of them; what was missed and triggered."""

    key: str
    version: int
    document: JsonObject
    institute_id: str
    at: datetime
    runs: Sequence[Row[Any]]
    events: Sequence[Row[Any]]
    misses: Sequence[str]
    alerts: Sequence[Row[Any]]


class CapsuleRepository:
    """`most` rows of a journal, or events, go into a capsule."""

    def __init__(self, database: Database, most: int = 50_000) -> None:
        self._database, self._most = database, most

    async def execution(self, execution_id: str) -> KeptExecution | None:
        """None: there is none. Raises `TooMuch`."""
        if not is_storable(execution_id, ID_LENGTH):
            return None
        return await self._database.read(lambda connection: self._execution(connection, execution_id))

    async def item(self, correlation_key: str) -> KeptItem | None:
        """None: nothing is watched under this key. Raises `TooMuch`."""
        if not is_storable(correlation_key, NAME_LENGTH):
            return None
        return await self._database.read(lambda connection: self._item(connection, correlation_key))

    def _execution(self, connection: Connection, execution_id: str) -> KeptExecution | None:
        chosen = (
            select(
                workflow_execution, workflow.c.key, workflow_version.c.version, workflow_version.c.definition
            )
            .join_from(workflow_execution, workflow_version, V.id == E.workflow_version_id)
            .join(workflow, workflow.c.id == E.workflow_id)
            .where(E.id == execution_id)
        )
        row = connection.execute(chosen).first()
        if row is None:
            return None
        rows = select(node_execution).where(J.execution_id == execution_id).order_by(J.seq, J.item_key)
        journal = [journal_of(each) for each in self._all(connection, rows)]
        columns = _columns(row)
        values = read_values(connection, execution_id, {*_digests(columns, journal)})
        columns |= {name: _whole(columns[name], values) for name in ("given", "context", "output")}
        return KeptExecution(
            columns,
            now(connection),
            [_filled(each, values) for each in journal],
            sorted(_reached(connection, execution_id), key=lambda each: each.at),
        )

    def _item(self, connection: Connection, correlation_key: str) -> KeptItem | None:
        runs = select(workflow_run).where(R.correlation_key == correlation_key).order_by(R.id)
        found = self._all(connection, runs)
        if not found:
            return None
        version_id = found[-1].workflow_version_id
        mine = [row for row in found if row.workflow_version_id == version_id]
        version = connection.execute(_version(version_id)).one()
        ids = [row.id for row in mine]
        events = select(event_raw).where(
            W.institute_id == mine[0].institute_id,
            W.correlation_key == correlation_key,
            W.received_at >= min(row.started_at for row in mine),
        )
        missed = select(expectation.c.to_node_key).where(
            expectation.c.workflow_run_id.in_(ids), expectation.c.fired_at.is_not(None)
        )
        late = select(event_occurrence.c.node_key).where(
            event_occurrence.c.workflow_run_id.in_(ids), event_occurrence.c.counted_late.is_(True)
        )
        alerts = select(alert).where(alert.c.workflow_run_id.in_(ids)).order_by(alert.c.id)
        return KeptItem(
            version.key,
            version.version,
            version.definition,
            mine[0].institute_id,
            now(connection),
            mine,
            self._all(connection, events.order_by(W.received_at, W.id)),
            connection.scalars(union_all(missed, late)).all(),
            self._all(connection, alerts),
        )

    def _all(self, connection: Connection, chosen: Select[Any]) -> Sequence[Row[Any]]:
        rows = connection.execute(chosen.limit(self._most + 1)).all()
        if len(rows) > self._most:
            raise TooMuch(f"there are more than {self._most:,} rows of it")
        return rows


def _version(version_id: int) -> Select[Any]:
    of = workflow.c.id == V.workflow_id
    return select(workflow.c.key, V.version, V.definition).join(workflow, of).where(V.id == version_id)


def _columns(row: Row[Any]) -> dict[str, Any]:
    columns = dict(row._mapping)
    given = with_asides({"context": row.given}, row.given_aside)["context"]
    inside = with_asides({"context": row.context, "output": row.output, "state": row.state or {}}, row.aside)
    return columns | {"given": given, "context": inside["context"], "output": inside["output"]}


def _digests(columns: Mapping[str, Any], journal: Sequence[JournalRow]) -> Iterator[str]:
    inside: list[Json] = [columns["given"], columns["context"], columns["output"]]
    inside += [part for row in journal for part in (row.output, row.changes)]
    for value in inside:
        yield from (aside.sha256 for aside in asides_in(value))


def _whole(value: Json, values: Mapping[str, Json]) -> Json:
    return filled({"value": value}, values)["value"]


def _filled(row: JournalRow, values: Mapping[str, Json]) -> JournalRow:
    changes = cast("JsonObject | None", _whole(row.changes, values))
    return row._replace(output=_whole(row.output, values), changes=changes)


# --- what reached it -------------------------------------------------------------------------------------


def _reached(connection: Connection, execution_id: str) -> Iterator[Reached]:
    yield from _events(connection, execution_id)
    yield from _commands(connection, execution_id)
    yield from _tasks(connection, execution_id)
    yield from _decisions(connection, execution_id)
    yield from _actions(connection, execution_id)


def _of(connection: Connection, table: Table, column: str, execution_id: str) -> Sequence[Row[Any]]:
    return connection.execute(select(table).where(table.c[column] == execution_id)).all()


def _events(connection: Connection, execution_id: str) -> Iterator[Reached]:
    for row in _of(connection, execution_wait_states, "execution_id", execution_id):
        for name, data in received_of(row).items():
            at = datetime.fromisoformat(row.events[name]["at"])
            yield Reached(at, "event", row.node_id, row.visit, name, data)


def _commands(connection: Connection, execution_id: str) -> Iterator[Reached]:
    for row in _of(connection, workflow_kafka_commands, "workflow_instance_id", execution_id):
        place = (row.step_id, row.visit)
        if row.sent_at is not None:
            yield Reached(row.sent_at, "command", *place, row.command_topic, row.command_payload)
        if row.reply_received_at is not None:
            yield Reached(row.reply_received_at, "reply", *place, row.reply_topic, row.reply_payload)


def _tasks(connection: Connection, execution_id: str) -> Iterator[Reached]:
    for row in _of(connection, external_task, "execution_id", execution_id):
        if row.completed_at is not None:
            data: JsonObject = {"status": row.status, "variables": row.variables}
            yield Reached(row.completed_at, "task", row.node_id, row.visit, row.topic, data)


def _decisions(connection: Connection, execution_id: str) -> Iterator[Reached]:
    for row in _of(connection, approval, "execution_id", execution_id):
        if row.decided_at is not None:
            data: JsonObject = {"status": row.status, "form": row.form, "reason": row.reason}
            yield Reached(row.decided_at, "decision", row.node_id, row.visit, row.status, data)


def _actions(connection: Connection, execution_id: str) -> Iterator[Reached]:
    A = audit_log.c
    chosen = select(audit_log).where(A.entity_type == "execution", A.entity_id == execution_id).order_by(A.id)
    for row in connection.execute(chosen):
        yield Reached(row.created_at, "action", None, None, row.action, row.details)
