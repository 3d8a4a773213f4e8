"""Workflows that browser tests work with."""

from servers import Server

WAITING = {
    "workflow": {
        "key": "waiting",
        "name": "Waiting",
        "nodes": [
            {"id": "begin", "type": "LOG", "config": {"message": "begun"}},
            {
                "id": "answer",
                "type": "wait_events",
                "config": {
                    "events": [{"name": name, "source": "callback"} for name in ("paid", "packed")],
                    "timeout": "2h",
                },
            },
            {"id": "finish", "type": "LOG", "config": {"message": "finished"}},
        ],
    }
}
FAILING = {
    "workflow": {
        "key": "failing",
        "name": "Failing",
        "nodes": [{"id": "stumble", "type": "FAIL", "config": {"message": "stumbled over #{note}"}}],
    }
}


def started(server: Server, key: str, context: object = None) -> str:
    """The id of a new execution."""
    _, answer = server.call("POST", "/api/workflow/execute", {"key": key, "context": context or {}})
    assert isinstance(answer, dict)
    return str(answer["executionId"])


def answered(server: Server, execution: str, event: str) -> None:
    """Send the callback that a waiting execution waits for."""
    _, whole = server.call("GET", f"/api/workflow/executions/{execution}")
    assert isinstance(whole, dict)
    body = {
        "correlation_id": whole["waits"][0]["correlationId"],
        "execution_id": execution,
        "event_name": event,
    }
    status, taken = server.call("POST", "/api/internal/callbacks/external-service", body)
    assert (status, taken) == (200, {"accepted": True, "reason": None})
