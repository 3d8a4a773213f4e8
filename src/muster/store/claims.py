"""Claims of executions, each one statement, and what their new owner is given."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    func,
    select,
)

from muster.engine.items import NOT_AN_ITEM
from muster.engine.journal import JournalRow, Signal, SignalKind
from muster.engine.owned import FIRST_FENCE, OwnedExecution
from muster.engine.state import ExecutionStatus
from muster.engine.trials import Suspects
from muster.model.aside import asides_in, with_asides
from muster.model.json import JsonObject
from muster.store.among import Among, run_among
from muster.store.answers import FREE_TO_TAKE
from muster.store.dialect import Claim, insert_rows, now, utc_now
from muster.store.journal import journal_of
from muster.store.tables import execution_signal, execution_takeover, node_execution, workflow_execution
from muster.store.types import UtcTime

E = workflow_execution.c
J = node_execution.c
S = execution_signal.c

# Statements are made once: that takes several times as long as running them.
AT = bindparam("at", type_=UtcTime())
# What the checkpoint does not know yet.
JOURNALS = Among(
    J.execution_id,
    lambda mine: (
        select(node_execution)
        .join(workflow_execution, E.id == J.execution_id)
        .where(mine, J.item_key.in_(NOT_AN_ITEM), J.seq > E.checkpoint_seq)
    ),
)
SIGNALS_OF = Among(S.execution_id, lambda mine: select(execution_signal).where(mine).order_by(S.id))
# Those that nobody has taken, or of which nobody has said so yet.
FRESH_SIGNALS_OF = (
    select(execution_signal).where(S.execution_id == bindparam("of"), S.seq.is_(None)).order_by(S.id)
)
TAKEN: Mapping[str, object] = {
    "owner": bindparam("new_owner"),
    "lease_until": bindparam("until"),
    "fence": E.fence + 1,
    "resume_at": None,
    "updated_at": AT,
}
RESUMED = {
    **TAKEN,
    # What was not parked does not resume: it goes on running.
    "status": case(
        (E.status == ExecutionStatus.RUNNING, ExecutionStatus.RUNNING.value),
        else_=ExecutionStatus.RESUMING.value,
    ),
    "resumed_at": AT,
    "resumed_by": bindparam("new_owner"),
}
TAKEN_OVER = {**TAKEN, "takeovers": E.takeovers + 1}


# What an owner is given, without what it has no use for: what an execution began with may be as large as all
# that it knows.
OWNED = (
    E.id,
    E.workflow_id,
    E.workflow_version_id,
    E.institute_id,
    E.trigger_id,
    E.parent_execution_id,
    E.depth,
    E.trace_parent,
    E.status,
    E.context,
    E.state,
    E.output,
    E.aside,
    E.checkpoint_seq,
    E.owner,
    E.fence,
    E.untouched_fence,
    E.takeovers,
    E.started_at,
    E.updated_at,
)


def _chosen(wanted: ColumnElement[bool], order: ColumnElement[Any]) -> Select[Any]:
    """In the order of what chooses them: the longest due first, and along that column's index."""
    return select(E.id).where(wanted).order_by(order, E.id).limit(bindparam("most"))


def _claim(chosen: Select[Any], values: Mapping[str, object]) -> Claim:
    return Claim(workflow_execution, chosen, values, OWNED)


# Said so that no index but that of the times seems to help, and that most rows seem to fulfil it: with what
# it remembers of a table that was empty, PostgreSQL would else read all executions that rest, and sort them.
UNOWNED = func.coalesce(func.length(E.owner), 0) < 1
MAY_BE_TAKEN = E.status.not_in(sorted(set(ExecutionStatus) - set(FREE_TO_TAKE)))
DUE = _claim(_chosen(and_(E.resume_at <= AT, UNOWNED, MAY_BE_TAKEN), E.resume_at), RESUMED)
NEXT_DUE = (
    select(E.resume_at, utc_now())
    .where(E.resume_at.is_not(None), UNOWNED, MAY_BE_TAKEN)
    .order_by(E.resume_at)
    .limit(1)
)
NEXT_LEASE_END = (
    select(E.lease_until, utc_now()).where(E.lease_until.is_not(None)).order_by(E.lease_until).limit(1)
)
# Those that were taken over equally often: how many of them may be driven together depends on it.
ABANDONED = _claim(
    _chosen(and_(E.lease_until < AT, E.takeovers == bindparam("before")), E.lease_until), TAKEN_OVER
)
SUSPECTED = (
    select(E.takeovers).where(E.lease_until < AT, E.takeovers > 0).order_by(E.lease_until, E.id).limit(1)
)
SUSPECTED_ALIKE = select(func.count()).where(E.lease_until < AT, E.takeovers == bindparam("before"))


def time_left(connection: Connection, wanted: Select[Any]) -> timedelta | None:
    """How long it takes until the next of these by the database's clock; None: there is none."""
    found = connection.execute(wanted).first()
    return None if found is None else found[0] - found[1]


def suspects(connection: Connection) -> Suspects | None:
    """How many wait to be taken over again, of those that are like the one that has waited for longest."""
    at = now(connection)
    before = connection.scalar(SUSPECTED, {"at": at})
    if before is None:
        return None
    return Suspects(before, connection.execute(SUSPECTED_ALIKE, {"at": at, "before": before}).scalar_one())


def take(
    connection: Connection, claim: Claim, owner: str, limit: int, lease: timedelta, **given: object
) -> list[OwnedExecution]:
    """Claim so many for an owner, for the time of a lease."""
    at = now(connection)
    rows = claim.run(connection, at=at, until=at + lease, new_owner=owner, most=limit, **given)
    _note_takeovers(connection, rows, at)
    return _with_journals(connection, rows)


def _note_takeovers(connection: Connection, rows: Sequence[Row[Any]], at: datetime) -> None:
    """Who took them over, for whoever asks why they come to nothing."""
    taken = [
        {"execution_id": row.id, "fence": row.fence, "owner": row.owner, "taken_at": at}
        for row in rows
        if row.takeovers
    ]
    insert_rows(connection, execution_takeover, taken)


def _with_journals(connection: Connection, rows: Sequence[Row[Any]]) -> list[OwnedExecution]:
    journals: dict[str, list[JournalRow]] = defaultdict(list)
    if not rows:
        return []
    ids = [row.id for row in rows]
    for row in run_among(connection, JOURNALS, ids):
        journals[row.execution_id].append(journal_of(row))
    signals = signals_of(run_among(connection, SIGNALS_OF, ids))
    return [owned_of(row, journals[row.id], signals.get(row.id, ())) for row in rows]


def signals_of(rows: Iterable[Row[Any]]) -> dict[str, list[Signal]]:
    """By their executions."""
    signals: dict[str, list[Signal]] = defaultdict(list)
    for row in rows:
        payload = cast("JsonObject", with_asides({"payload": row.payload}, row.aside)["payload"])
        signals[row.execution_id].append(Signal(row.id, SignalKind(row.kind), payload, row.seq))
    return signals


def owned_of(row: Row[Any], journal: Sequence[JournalRow], signals: Sequence[Signal]) -> OwnedExecution:
    context, state = row.context, row.state or {}
    if row.aside:
        with_asides({"context": context, "state": state, "output": row.output}, row.aside)
    return OwnedExecution(
        id=row.id,
        workflow_id=row.workflow_id,
        version_id=row.workflow_version_id,
        institute_id=row.institute_id,
        fence=row.fence,
        started_at=row.started_at,
        status=ExecutionStatus(row.status),
        context=context,
        state=state,
        takeovers=row.takeovers,
        journal=journal,
        signals=signals,
        has_asides=bool(row.aside) or any(map(holds_asides, journal)),
        parent_id=row.parent_execution_id,
        depth=row.depth,
        trigger_id=row.trigger_id,
        claimed_at=row.updated_at,
        is_untouched=is_untouched(row),
        checkpoint_seq=row.checkpoint_seq,
        trace=row.trace_parent,
    )


def is_untouched(row: Row[Any]) -> bool:
    """Whether who claimed an execution under this fence is the first that can begin what is to be done next.
    (Who starts an execution itself has the first fence, too, but does not claim it.)"""
    return row.fence in (FIRST_FENCE, row.untouched_fence)


def holds_asides(row: JournalRow) -> bool:
    return (isinstance(row.output, dict) and any(asides_in(row.output))) or any(asides_in(row.changes))
