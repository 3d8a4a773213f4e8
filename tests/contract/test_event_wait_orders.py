"""Every order of events against the store itself: two instances race for each of them, and each execution is
resumed by one, once, with what the plainest model says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, select

from event_wait_reference import API, HAPPENINGS, KAFKA, SETTINGS, Reference, Setting
from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Expected,
    OnTimeout,
    Plan,
    Source,
    Strategy,
    Verdict,
)
from muster.engine.openings import Closing, EventWaitOpening
from muster.engine.owned import OwnedExecution
from muster.store.claims import DUE, take
from muster.store.database import in_transaction
from muster.store.dialect import insert_rows
from muster.store.event_receiving import Receiving
from muster.store.event_waits import expire_event_waits, write_event_waits
from muster.store.open import sqlite_engine
from muster.store.tables import (
    execution_signal,
    execution_wait_states,
    metadata,
    workflow,
    workflow_execution,
    workflow_version,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DEADLINE = NOON + timedelta(minutes=5)
DONE = {"event_type": "done"}
ORDERS_OF_EACH = 180
CASES = len(SETTINGS) * ORDERS_OF_EACH
INSTANCES = (Receiving("one"), Receiving("two"))


class Clock:
    def now(self) -> datetime:
        return NOON


def distinct_orders(left: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not left:
        yield ()
    for what in dict.fromkeys(left):
        rest = list(left)
        rest.remove(what)
        for order in distinct_orders(tuple(rest)):
            yield (what, *order)


class Case:
    """One wait, what happens to it, and what should come of that."""

    def __init__(self, number: int, setting: Setting, order: tuple[str, ...]) -> None:
        self.id, self.correlation = f"e{number}", f"c{number}"
        self.setting, self.order, self.model = setting, order, Reference(setting)

    def opening(self) -> EventWaitOpening:
        events = (
            Expected(API, Source.CALLBACK, API in self.setting.required),
            Expected(KAFKA, Source.KAFKA, KAFKA in self.setting.required, "t", filter=DONE),
        )
        strategy, on_timeout = Strategy(self.setting.strategy), OnTimeout(self.setting.on_timeout)
        plan = Plan(events, DEADLINE, strategy, on_timeout, tuple(sorted(self.setting.required)))
        return EventWaitOpening(f"w{self.id}", "wait", 1, self.correlation, "w1", "", plan, NOON)

    def event(self, what: str) -> Arrived:
        match what:
            case "api":
                return Arrived(Source.CALLBACK, self.id, self.correlation, {"ok": True})
            case "kafka":
                return Arrived(Source.KAFKA, self.id, self.correlation, DONE, "t")
            case "wrong execution":
                return Arrived(Source.CALLBACK, "other", self.correlation, {})
            case "wrong correlation":
                return Arrived(Source.KAFKA, self.id, "other", DONE, "t")
            case _:
                return Arrived(Source.KAFKA, self.id, self.correlation, {"event_type": "other"}, "t")


def cases(of_each: int = ORDERS_OF_EACH) -> list[Case]:
    orders = list(distinct_orders(HAPPENINGS))
    chosen = [orders[place * len(orders) // of_each] for place in range(of_each)]
    pairs = [(setting, order) for setting in SETTINGS for order in chosen]
    return [Case(number, setting, order) for number, (setting, order) in enumerate(pairs)]


def prepare(connection: Connection, found: list[Case]) -> None:
    metadata.create_all(connection)
    fill(connection, found)


def fill(connection: Connection, found: list[Case]) -> None:
    at = {"created_at": NOON, "updated_at": NOON}
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    insert_rows(connection, workflow, [{"id": "w1", "key": "w", "name": "w", **kinds, **at}])
    version = {"id": 1, "workflow_id": "w1", "version": 1, "definition": {}, "checksum": ""}
    insert_rows(connection, workflow_version, [{**version, "created_by": "me", "created_at": NOON}])
    parked = {"workflow_id": "w1", "workflow_version_id": 1, "status": "WAITING", "given": {}, "context": {}}
    times = {"fence": 1, "started_at": NOON, "updated_at": NOON}
    insert_rows(connection, workflow_execution, [{"id": each.id, **parked, **times} for each in found])
    write_event_waits(connection, [(each.id, each.opening()) for each in found])


@pytest.mark.slow
def test_every_order_resumes_each_execution_once_whoever_else_tries() -> None:
    found = cases()
    assert len(found) == 8_640
    engine = sqlite_engine(":memory:", "BEGIN IMMEDIATE", Clock(), single=True)
    with engine.connect() as connection:
        in_transaction(connection, lambda c: prepare(c, found))
        for place in range(len(HAPPENINGS)):
            in_transaction(connection, lambda c, place=place: happen(c, found, place))
        in_transaction(connection, lambda c: judge(c, found))
    engine.dispose()


def happen(connection: Connection, found: list[Case], place: int) -> None:
    """The next thing of each: first by one instance, then by the other, too late."""
    events = [(each, each.event(each.order[place])) for each in found if each.order[place] != "timeout"]
    for instance in INSTANCES:
        verdicts = instance.write(connection, [event for _, event in events])
        told = [said(verdict) for verdict in verdicts]
        assert told == [each.model.happen(each.order[place]) for each, _ in events]
    for each in found:
        if each.order[place] == "timeout":
            each.model.happen("timeout")
            expire_event_waits(connection, each.id, Closing((("wait", 1),), "late", at=DEADLINE), DEADLINE)


def judge(connection: Connection, found: list[Case]) -> None:
    judge_waits(connection, found)
    claimed = [owned.id for owner in ("one", "two") * 10 for owned in claim(connection, owner)]
    assert sorted(claimed) == sorted(each.id for each in found), "each by one of the two, and once"


def judge_waits(connection: Connection, found: list[Case]) -> None:
    answers: dict[str, list[dict[str, object]]] = {each.id: [] for each in found}
    for row in connection.execute(select(execution_signal)):
        answers[row.execution_id].append(row.payload["answer"])
    waits = {row.execution_id: row for row in connection.execute(select(execution_wait_states))}
    for each in found:
        [answer] = answers[each.id]
        end = each.model.end
        assert answer["status"] == ("completed" if end == "completed" else "timeout"), each.order
        assert end == answer.get("ending", "completed"), (each.setting, each.order)
        assert set(answer["received"]) == each.model.has  # type: ignore[call-overload]  # our own answer
        row = waits[each.id]
        assert row.status == ("resuming" if end == "completed" else "timeout")
        assert set(row.received_events) == each.model.has
        refused = row.near_misses
        assert refused == row.version - 1 - len(each.model.has) - (end != "completed"), "each change counts"


def claim(connection: Connection, owner: str) -> list[OwnedExecution]:
    return list(take(connection, DUE, owner, 500, timedelta(seconds=30)))


def said(verdict: Verdict) -> str:
    return "accepted" if isinstance(verdict, Accepted) else verdict.reason.value
