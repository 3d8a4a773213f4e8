"""How waits ended is counted from what is written of them."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from muster.app.wait_metrics import WaitMetrics
from muster.engine.event_waits import Accepted, Arrived, NearMiss, Refusal, Refused, Source
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import NewExecution
from muster.engine.program import compile_program
from muster.engine.rebuilding import begin
from muster.model.execution import NodeStatus
from muster.model.json import Json
from muster.model.workflow import Definition, Node
from muster.nodes import builtin

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def live() -> Live:
    nodes = (Node("wait", "wait_events", {}, is_start=True),)
    program = compile_program(Definition("w", nodes, ()), builtin())
    return begin(NewExecution("e", "w", 1, "", "here", {}, AT), program)[0]


def row(status: NodeStatus, output: Json, ended: bool = True) -> JournalRow:
    return JournalRow("wait", 1, "", 1, 1, status, AT, AT if ended else None, output)


def test_a_wait_is_counted_once_it_is_over_by_how_it_ended_and_what_came_first(live: Live) -> None:
    registry = CollectorRegistry()
    metrics = WaitMetrics(registry)
    met: Json = {"status": "completed", "receivedEvents": ["kafka_event", "api_response"]}
    late: Json = {"status": "timeout", "receivedEvents": []}
    metrics.progressed(live, [row(NodeStatus.WAITING_FOR_EVENTS, {"status": "waiting"}, ended=False)], None)
    metrics.progressed(live, [row(NodeStatus.COMPLETED, met)], None)
    metrics.progressed(live, [row(NodeStatus.FAILED, late)], None)
    metrics.progressed(live, [row(NodeStatus.FAILED, None)], None)  # it never began to wait

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("muster_wait_ends_total", outcome="completed") == 1
    assert value("muster_wait_ends_total", outcome="timeout") == 1
    assert value("muster_wait_first_event_total", event="kafka_event") == 1
    assert value("muster_wait_first_event_total", event="api_response") is None
    assert value("muster_waits_parked_total") == 1


def test_ends_are_counted_from_nothing_on_so_that_the_first_is_a_rise() -> None:
    registry = CollectorRegistry()
    WaitMetrics(registry)
    for outcome in ("completed", "timeout", "failed"):
        assert registry.get_sample_value("muster_wait_ends_total", {"outcome": outcome}) == 0


def test_an_event_that_lost_a_race_is_a_conflict_and_one_that_is_late_is_none() -> None:
    registry = CollectorRegistry()
    metrics, event = WaitMetrics(registry), Arrived(Source.CALLBACK, "e", "c", {})
    late = Refused(Refusal.NOT_WAITING, NearMiss.LATE)
    for over_since in (None, AT - timedelta(seconds=1), AT + timedelta(seconds=1)):
        metrics.arrived(event, late._replace(over_since=over_since), AT)
    assert registry.get_sample_value("muster_wait_resume_conflicts_total") == 1
    counted = {"source": "callback", "outcome": "not_waiting"}
    assert registry.get_sample_value("muster_wait_events_total", counted) == 3


def test_events_that_were_kept_are_counted_when_they_meet_their_waits() -> None:
    registry = CollectorRegistry()
    event = Arrived(Source.KAFKA, "e", "c", {}, "paid", key="k")
    WaitMetrics(registry).met([(event, Accepted("paid", False)), (event, Accepted("paid", True))])
    counted = {"source": "kafka", "outcome": "accepted"}
    assert registry.get_sample_value("muster_wait_events_total", counted) == 2
    assert registry.get_sample_value("muster_wait_resumes_total") == 1
