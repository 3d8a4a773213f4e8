"""Events that came for waits: stored, counted, and if a wait is complete with them, its execution told.

All of that is one transaction for a whole batch, under the locks of the executions concerned: of any number
of instances that receive the same event, one stores it, and of any that complete a wait, one resumes it.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, Text, bindparam, exists, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Refusal,
    Refused,
    Verdict,
    WaitState,
    WaitStatus,
    deadline,
    needed,
    receive,
)
from muster.engine.tracing import Waiter
from muster.model.json import Json, JsonObject
from muster.store.among import Among, run_among
from muster.store.answers import Answer, give
from muster.store.committer import Locks
from muster.store.database import CLOCK, LookAgain
from muster.store.dialect import now, update_rows, utc_now
from muster.store.event_waits import COLUMN_OF, W, state_of, told
from muster.store.limits import QUEUED
from muster.store.lock_order import lock_begun, lock_reached
from muster.store.near_misses import MOST_OF_A_WAIT, Missed, keep_missed, unmatched
from muster.store.tables import ID_LENGTH, NAME_LENGTH, execution_wait_states, workflow_execution
from muster.store.types import is_storable

E = workflow_execution.c
UNKNOWN = Refused(Refusal.NOT_WAITING)
FOUND: Select[Any] = select(W.id, W.execution_id, W.correlation_id, E.status, E.trace_parent).join(
    workflow_execution, E.id == W.execution_id
)
BY_CORRELATION = Among(W.correlation_id, lambda named: FOUND.where(named))
# What deciding needs: each column of JSON takes its time.
COLUMNS = (
    W.id,
    W.execution_id,
    W.node_id,
    W.visit,
    W.correlation_id,
    W.institute_id,
    W.config,
    W.api_call_response,
    W.api_response_data,
    W.kafka_event_data,
    W.received_events,
    W.events,
    W.status,
    W.resumed_at,
    W.resumed_by,
    W.version,
    W.near_misses,
)
HELD = Among(
    W.id,
    lambda these: select(*COLUMNS, utc_now().label("clock")).where(these).order_by(W.id).with_for_update(),
)


def _known_and_held() -> Select[Any]:
    """On PostgreSQL: the waits of some correlations, locked with their executions, in the order of those (a
    wait is locked by nobody who has not locked its execution). Nothing is given, and nothing locked, unless
    all are known and none of the executions is queued: else more has to be looked up before."""
    wanted = func.unnest(bindparam("wanted", type_=ARRAY(Text()))).table_valued("key").render_derived()
    wait = select(W.id, W.execution_id).where(W.correlation_id == wanted.c.key).lateral()
    status = select(E.status).where(E.id == wait.c.execution_id).lateral()
    looked_up = select(wait.c.id, wait.c.execution_id, status.c.status)
    looked_up = looked_up.select_from(wanted.join(wait, true()).join(status, true()))
    found = looked_up.order_by(wait.c.execution_id, wait.c.id).cte("found")
    both = select(E.status.label("execution_status"), E.trace_parent, *COLUMNS).join_from(
        workflow_execution, execution_wait_states, E.id == W.execution_id
    )
    each = both.where(E.id == found.c.execution_id, W.id == found.c.id)
    locked = each.with_for_update(of=(workflow_execution, execution_wait_states)).lateral("locked")
    are_known = select(func.count()).select_from(found).scalar_subquery() == func.cardinality(
        bindparam("wanted", type_=ARRAY(Text()))
    )
    return (
        select(locked, utc_now().label("clock"))
        .select_from(found.join(locked, true()))
        .where(are_known, ~exists().where(found.c.status == QUEUED))
    )


KNOWN_AND_HELD = _known_and_held()


@dataclass(slots=True)
class _Held:
    """A wait that is locked, and what this batch makes of it."""

    row: Row[Any]
    state: WaitState
    events: dict[str, Json]
    near_misses: int
    trace: str | None
    is_stored: bool = False
    completes: bool = False
    missed: list[Missed] = field(default_factory=list)

    def take(self, event: Arrived, at: datetime) -> Verdict:
        self.state, verdict = receive(self.state, event)
        if isinstance(verdict, Accepted):
            self.is_stored, self.completes = True, self.completes or verdict.completes
            self.events[verdict.name] = _known(verdict.name, event, at)
            row = self.row
            return verdict._replace(waiter=Waiter(row.execution_id, row.node_id, row.visit, self.trace))
        self._miss(event, verdict)
        return verdict._replace(over_since=self._over_since(at))

    def _over_since(self, at: datetime) -> datetime | None:
        if self.state.status is WaitStatus.WAITING:
            return None
        if self.completes:
            return at
        late = self.state.status is WaitStatus.TIMEOUT
        return deadline(self.state.plan, self.state.received) if late else self.row.resumed_at

    def _miss(self, event: Arrived, refused: Refused) -> None:
        if event.key is not None:
            return  # it is kept, and may be another's: applied by hand as well, it would be two waits'
        known = self.events.get(refused.name or "")
        if refused.reason is Refusal.DUPLICATE and isinstance(known, dict):
            repeats = known.get("repeats")
            known["repeats"] = (repeats if isinstance(repeats, int) else 0) + 1
        self.near_misses += 1
        if self.near_misses <= MOST_OF_A_WAIT:
            self.missed.append(Missed(event, refused, self.row.institute_id, self.row.id))

    @property
    def is_touched(self) -> bool:
        return self.is_stored or self.near_misses > self.row.near_misses


class Receiving:
    """Takes events for waits, and answers for each what became of it. `instance` is noted as who resumes."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def __init__(self, instance: str) -> None:
        self._instance = instance

    def write(self, connection: Connection, items: Sequence[Arrived]) -> Sequence[Verdict]:
        verdicts, answers = receive_all(connection, items, self._instance)
        give(connection, answers)
        return verdicts


def receive_all(
    connection: Connection, items: Sequence[Arrived], instance: str
) -> tuple[list[Verdict], list[Answer]]:
    """Store what is accepted, and keep what is not: what became of each, and what the executions whose waits
    are complete are to be told."""
    decided = decide(connection, items)
    store(connection, decided, instance)
    return decided.verdicts, decided.answers


@dataclass(slots=True)
class Decided:
    """What becomes of a batch, nothing of which is stored yet, under the locks of the executions concerned.
    `lost` are events by whose ids nothing is known; `answers` are for the executions whose waits are
    complete."""

    verdicts: list[Verdict]
    touched: list[_Held]
    lost: list[Arrived]
    at: datetime

    @property
    def answers(self) -> list[Answer]:
        return [_answer(each) for each in self.touched if each.completes]

    def have_gone_on(self, executions: Container[str]) -> None:
        """These have gone on from their waits, and need not be told."""
        for each in self.touched:
            if each.completes and each.row.execution_id in executions:
                each.state = replace(each.state, status=WaitStatus.COMPLETED)


def decide(connection: Connection, items: Sequence[Arrived]) -> Decided:
    """What is to become of each event."""
    at_once = _hold_known(connection, items) if connection.dialect.name == "postgresql" else ()
    if at_once:
        known = {row.correlation_id: row for row in at_once}
        waits: list[Row[Any] | None] = [known[each.correlation_id] for each in items]
        held = _held(connection, at_once, {row.id: row.trace_parent for row in at_once})
    else:
        waits = _meant(connection, items)
        held = _locked(connection, [wait for wait in waits if wait is not None])
    at = now(connection)
    verdicts = [
        held[wait.id].take(each, at) if wait is not None and wait.id in held else UNKNOWN
        for each, wait in zip(items, waits, strict=True)
    ]
    lost = [each for each, wait in zip(items, waits, strict=True) if wait is None]
    return Decided(verdicts, [each for each in held.values() if each.is_touched], lost, at)


def store(connection: Connection, decided: Decided, instance: str) -> None:
    """Write down what was decided."""
    _store(connection, decided.touched, decided.at, instance)
    missed = [miss for each in decided.touched for miss in each.missed]
    keep_missed(connection, [*missed, *unmatched(connection, decided.lost)], decided.at)


def _hold_known(connection: Connection, items: Sequence[Arrived]) -> Sequence[Row[Any]]:
    """All of the waits, locked; none, where something about them is unusual. Raises `LookAgain`."""
    correlations = {each.correlation_id for each in items}
    if not all(is_storable(each, NAME_LENGTH) for each in correlations):
        return ()
    rows = connection.execute(KNOWN_AND_HELD, {"wanted": sorted(correlations)}).all()
    if rows and (len(rows) < len(correlations) or any(row.execution_status == QUEUED for row in rows)):
        raise LookAgain("an execution was queued, or is gone, in between")
    return rows


def _meant(connection: Connection, items: Sequence[Arrived]) -> list[Row[Any] | None]:
    """The wait that each event is for, or comes closest to: that of its correlation, or else the last of its
    execution. None: nothing is known by its ids."""
    correlations = {each.correlation_id for each in items if is_storable(each.correlation_id, NAME_LENGTH)}
    named = {row.correlation_id: row for row in run_among(connection, BY_CORRELATION, correlations)}
    lost = {each.execution_id for each in items if each.correlation_id not in named}
    close: dict[str, Row[Any]] = {}
    if executions := sorted(each for each in lost if is_storable(each, ID_LENGTH)):
        waits = FOUND.where(W.execution_id.in_(executions)).order_by(W.created_at, W.id)
        close = {row.execution_id: row for row in connection.execute(waits)}
    return [named.get(each.correlation_id) or close.get(each.execution_id) for each in items]


def _locked(connection: Connection, waits: Sequence[Row[Any]]) -> dict[str, _Held]:
    """The waits, by their ids, with their executions locked. They are read with a lock as well: a database
    may have begun to look before somebody else's change was there."""
    if not waits:
        return {}
    executions = {wait.execution_id for wait in waits}
    if any(wait.status == QUEUED for wait in waits):
        lock_reached(connection, executions, ("id", "status"))
    else:
        lock_begun(connection, executions)
    rows = run_among(connection, HELD, {wait.id for wait in waits}).all()
    return _held(connection, rows, {wait.id: wait.trace_parent for wait in waits})


def _held(
    connection: Connection, rows: Sequence[Row[Any]], traces: Mapping[str, str | None]
) -> dict[str, _Held]:
    # Under the locks: whoever asks for the time next is told this one, and need not go and ask.
    connection.info[CLOCK] = max((row.clock for row in rows), default=None)
    return {
        row.id: _Held(row, state_of(row), dict(row.events or {}), row.near_misses, traces[row.id])
        for row in rows
    }


def _known(name: str, event: Arrived, at: datetime) -> JsonObject:
    """What is kept of an event beside its data, and its data if that has no column of its own."""
    known: JsonObject = {"at": at.isoformat(), "source": event.source.value}
    return known if name in COLUMN_OF else {**known, "data": event.data}


def _store(connection: Connection, touched: Sequence[_Held], at: datetime, instance: str) -> None:
    stored = [_stored_row(each, at, instance) for each in touched if each.is_stored]
    counted = [_counted_row(each, at) for each in touched if not each.is_stored]
    update_rows(connection, execution_wait_states, stored, ("id",))
    update_rows(connection, execution_wait_states, counted, ("id",))


def _counted_row(held: _Held, at: datetime) -> dict[str, object]:
    return {
        "id": held.row.id,
        "events": held.events,
        "near_misses": held.near_misses,
        # The row is locked since it was read, so nobody has come in between.
        "version": held.row.version + 1,
        "updated_at": at,
    }


def _stored_row(held: _Held, at: datetime, instance: str) -> dict[str, object]:
    state, row = held.state, held.row
    data = {column: state.received.get(name) for name, column in COLUMN_OF.items()}
    return {
        **_counted_row(held, at),
        **data,
        "received_events": list(state.received),
        "needed_events": list(needed(state.plan, state.received)),
        "status": state.status.value,
        "resumed_at": at if held.completes else row.resumed_at,
        "resumed_by": instance if held.completes else row.resumed_by,
        "expires_at": deadline(state.plan, state.received),
    }


def _answer(held: _Held) -> Answer:
    row, state = held.row, held.state
    answer = told(row, WaitStatus.COMPLETED, state.received)
    return Answer(row.execution_id, row.node_id, row.visit, row.correlation_id, answer)
