"""Waits for events: opened with the journal row that says so, closed when nobody waits any more.

Whoever opens, answers, expires or closes one has locked the row of its execution.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, or_, select, update

from muster.engine.actions import Rearm
from muster.engine.event_keys import WaitKey
from muster.engine.event_wait_codec import document_of, plan_of
from muster.engine.event_waits import (
    Plan,
    WaitState,
    WaitStatus,
    at_deadline,
    deadline,
    lacking,
    needed,
    rearmed,
)
from muster.engine.journal import MORE_TIME
from muster.engine.openings import Closing, EventWaitCalled, EventWaitDone, EventWaitOpening, Opening
from muster.model.json import Json, JsonObject
from muster.store.among import Among, run_among
from muster.store.answers import Answer, give
from muster.store.dialect import insert_new, now, update_rows
from muster.store.tables import execution_wait_states, wait_key
from muster.store.wait_topics import listen, listen_again

W = execution_wait_states.c
VISIT = ("execution_id", "node_id", "visit")
LIVE = (WaitStatus.WAITING.value, WaitStatus.RESUMING.value)
# Events whose data has a column of its own.
COLUMN_OF = {"api_response": "api_response_data", "kafka_event": "kafka_event_data"}
COMPLETED = Among(
    W.id,
    lambda these: (
        update(execution_wait_states)
        # Said so that the index of statuses does not seem to help.
        .where(these, W.status.not_in(sorted(set(WaitStatus) - {WaitStatus.RESUMING})))
        .values(status=WaitStatus.COMPLETED.value, version=W.version + 1, updated_at=bindparam("at"))
    ),
)


def write_event_waits(connection: Connection, opened: Sequence[tuple[str, Opening]]) -> None:
    """Open waits, note what their calls came to, and that visits have gone on: all executions' at once."""
    openings = [(execution, each) for execution, each in opened if isinstance(each, EventWaitOpening)]
    called = [each for _, each in opened if isinstance(each, EventWaitCalled)]
    done = sorted(each.id for _, each in opened if isinstance(each, EventWaitDone))
    _open(connection, openings)
    answers: list[dict[str, object]] = [
        {"id": each.id, "api_call_response": each.response} for each in called
    ]
    update_rows(connection, execution_wait_states, answers, ("id",))
    if done:
        run_among(connection, COMPLETED, done, at=now(connection))


def _open(connection: Connection, openings: Sequence[tuple[str, EventWaitOpening]]) -> None:
    if not openings:
        return
    listen(connection, (fields for _, each in openings for fields in each.topics))
    keys = [_key_row(each, key) for _, each in openings for key in each.keys]
    insert_new(connection, wait_key, keys, ("hash", "wait_id", "event"))
    rows = {(execution, each.node, each.visit): _row(execution, each) for execution, each in openings}
    fresh = insert_new(connection, execution_wait_states, list(rows.values()), VISIT)
    if len(fresh) < len(rows):
        _replace(connection, [row for place, row in rows.items() if place not in fresh])


def _replace(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    """What these visits opened before is over. What they opened under the same id was written by a commit
    whose answer got lost, and may hold events by now."""
    executions = sorted({str(row["execution_id"]) for row in rows})
    found = select(W.id).where(W.execution_id.in_(executions)).with_for_update()
    there = set(connection.scalars(found))
    update_rows(connection, execution_wait_states, [row for row in rows if row["id"] not in there], VISIT)


def _key_row(opening: EventWaitOpening, key: WaitKey) -> dict[str, object]:
    return {
        "hash": key.hash,
        "wait_id": opening.id,
        "event": key.event,
        "cardinality": "all" if key.is_shared else "one",
        "filter": dict(key.filter),
        "created_at": opening.created_at,
    }


def _row(execution_id: str, opening: EventWaitOpening) -> dict[str, object]:
    plan = opening.plan
    return {
        "id": opening.id,
        "execution_id": execution_id,
        "node_id": opening.node,
        "visit": opening.visit,
        "correlation_id": opening.correlation_id,
        "workflow_id": opening.workflow_id,
        "institute_id": opening.institute_id,
        "aggregation_strategy": plan.strategy.value,
        "required_events": [event.name for event in plan.events if event.required],
        "enabled_events": list(plan.names),
        "needed_events": list(needed(plan, {})),
        "config": document_of(plan),
        "api_call_enabled": "api_response" in plan.names,
        "kafka_event_enabled": "kafka_event" in plan.names,
        "api_call_response": None,
        "api_response_data": None,
        "kafka_event_data": None,
        "received_events": [],
        "events": {},
        "status": WaitStatus.WAITING.value,
        "resumed_at": None,
        "resumed_by": None,
        "version": 1,
        "near_misses": 0,
        "created_at": opening.created_at,
        "updated_at": opening.created_at,
        "expires_at": deadline(plan, {}),
    }


def close_event_waits(connection: Connection, execution_id: str, closing: Closing) -> None:
    """Nobody waits for what these visits wait for."""
    if not closing.visits:
        return
    over = {"status": WaitStatus.FAILED.value, "version": W.version + 1, "updated_at": now(connection)}
    mine = (W.execution_id == execution_id, _of_visits(closing), W.status.in_(LIVE))
    connection.execute(update(execution_wait_states).where(*mine).values(over))


def expire_event_waits(connection: Connection, execution_id: str, closing: Closing, at: datetime) -> None:
    """The time of these visits is over: each is told what has come until now, and nothing more will. Unless
    what came has given it more time: then it is told that."""
    mine = (W.execution_id == execution_id, _of_visits(closing), W.status == WaitStatus.WAITING.value)
    rows = connection.execute(select(execution_wait_states).where(*mine).with_for_update()).all()
    late = [row.id for row in rows if row.expires_at <= at]
    if late:
        over = {"status": WaitStatus.TIMEOUT.value, "version": W.version + 1, "updated_at": now(connection)}
        connection.execute(update(execution_wait_states).where(W.id.in_(late)).values(over))
    give(connection, [_answer(row, _told(row, row.expires_at <= at)) for row in rows])


def rearm_wait(connection: Connection, rearm: Rearm) -> None:
    """Let a wait whose time was over go on. Its execution is locked, and goes on with it."""
    mine = select(W.execution_id, W.config, W.version).where(
        W.id == rearm.wait_id, W.status == WaitStatus.TIMEOUT.value
    )
    row = connection.execute(mine.with_for_update()).first()
    if row is not None:
        # Nobody may have listened meanwhile.
        listen_again(connection, row.execution_id)
        plan = rearmed(plan_of(row.config), rearm.until)
        again = {
            "id": rearm.wait_id,
            "status": WaitStatus.WAITING.value,
            "config": document_of(plan),
            "expires_at": plan.deadline,
            "version": row.version + 1,
            "updated_at": now(connection),
        }
        update_rows(connection, execution_wait_states, [again], ("id",))


def _of_visits(closing: Closing) -> Any:
    return or_(*(and_(W.node_id == node, W.visit == visit) for node, visit in closing.visits))


def _told(row: Row[Any], late: bool) -> JsonObject:
    if not late:
        return {MORE_TIME: row.expires_at.isoformat(), "waitStateId": row.id}
    received = received_of(row)
    plan = plan_of(row.config)
    over = told(row, WaitStatus.TIMEOUT, received)
    return {**over, "ending": at_deadline(plan, received).value, "lacking": lacking(plan, received)}


def _answer(row: Row[Any], told: JsonObject) -> Answer:
    return Answer(row.execution_id, row.node_id, row.visit, row.correlation_id, told)


def told(row: Row[Any], status: WaitStatus, received: Mapping[str, Json]) -> JsonObject:
    """What a visit is told when its wait is over."""
    answer: JsonObject = {
        "status": status.value,
        "waitStateId": row.id,
        "correlationId": row.correlation_id,
        "received": dict(received),
    }
    if row.api_call_response is not None:
        answer["apiCallResponse"] = row.api_call_response
    return answer


def visits_awaiting_events(connection: Connection, execution_id: str) -> set[tuple[str, int]]:
    """The visits of an execution that wait for events."""
    opened = select(W.node_id, W.visit).where(W.execution_id == execution_id, W.status.in_(LIVE))
    return {(row.node_id, row.visit) for row in connection.execute(opened)}


# --- a row as the pure model sees it -------------------------------------------------------------------


def state_of(row: Row[Any]) -> WaitState:
    plan: Plan = plan_of(row.config)
    status = WaitStatus(row.status)
    return WaitState(row.execution_id, row.correlation_id, plan, received_of(row), status)


def received_of(row: Row[Any]) -> dict[str, Json]:
    """The data of the events that came, by their names, in their order."""
    return {name: _data(row, name) for name in row.received_events or ()}


def _data(row: Row[Any], name: str) -> Json:
    column = COLUMN_OF.get(name)
    if column is not None:
        kept: Json = row._mapping[column]
        return kept
    known = row.events.get(name)
    return known.get("data") if isinstance(known, dict) else None
