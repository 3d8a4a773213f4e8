"""How waits ended is counted from what is written of them."""

from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from muster.app.wait_metrics import WaitMetrics
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


def test_ends_are_counted_from_nothing_on_so_that_the_first_is_a_rise() -> None:
    registry = CollectorRegistry()
    WaitMetrics(registry)
    for outcome in ("completed", "timeout", "failed"):
        assert registry.get_sample_value("muster_wait_ends_total", {"outcome": outcome}) == 0
