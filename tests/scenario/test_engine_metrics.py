"""What Prometheus is told of executions."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from api_for_tests import Client
from muster.app.engine_metrics import MOST_WORKFLOWS, EngineMetrics
from muster.engine import drive
from muster.engine.graph import Graph
from muster.engine.owned import NewExecution
from muster.engine.program import Program
from polling import until

DONE = {"workflow": {"key": "done", "name": "Done", "nodes": [{"id": "a", "type": "NOOP", "config": {}}]}}
REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "seconds"}}
STOP = {"id": "stop", "type": "FAIL", "config": {"message": "no"}}
STOPS = {"workflow": {"key": "stops", "name": "Stops", "nodes": [REST, STOP]}}


async def told(client: Client) -> str:
    return (await client.get("/metrics")).text


async def test_executions_nodes_and_timers_are_counted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "SHORT_DELAY", timedelta(0))  # every delay is a durable timer
    for document in (DONE, STOPS):
        await client.post("/api/workflow", json=document)
        await client.post("/api/workflow/execute?wait=60", json={"key": document["workflow"]["key"]})
    expected = {
        'muster_executions_started_total{workflow="done"} 1.0',
        'muster_executions_completed_total{workflow="done"} 1.0',
        'muster_executions_failed_total{workflow="stops"} 1.0',
        'muster_execution_seconds_count{workflow="stops"} 1.0',
        'muster_node_seconds_count{type="DELAY"} 1.0',
        "muster_timer_late_seconds_count 1.0",
        "muster_executions_taken_total 1.0",
        "muster_lock_losses_total 0.0",
        "muster_executions_driven 0.0",
        "muster_commit_waiting 0.0",
    }

    async def all_are_told() -> bool:
        return expected <= set((await told(client)).splitlines())

    await until(all_are_told)


def test_workflows_past_the_first_share_a_label() -> None:
    registry = CollectorRegistry()
    metrics = EngineMetrics(registry)
    new = NewExecution("e", "w", 1, "", "o", {}, datetime(2026, 1, 1, tzinfo=UTC))
    for number in range(MOST_WORKFLOWS + 5):
        metrics.started(new, Program(Graph.__new__(Graph), {}, {}, None, workflow=f"w{number}"))
    labels = {
        sample.labels["workflow"]
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "muster_executions_started_total"
    }
    assert len(labels) == MOST_WORKFLOWS + 1
    assert registry.get_sample_value("muster_executions_started_total", {"workflow": "other"}) == 5
