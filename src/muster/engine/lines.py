"""Whom a line of the log is about, as fields: lines of one execution are found by them, across instances."""

from muster.engine.handlers import Call
from muster.engine.tracing import trace_of
from muster.engine.view import Facts

Fields = dict[str, object]


def about(execution_id: str, trace: str | None, workflow_id: str | None = None) -> Fields:
    """`trace` is the `traceparent` that the execution was started with."""
    fields: Fields = {"execution_id": execution_id, "trace_id": trace_of(execution_id, trace).trace_id}
    return fields if workflow_id is None else {"workflow_id": workflow_id, **fields}


def about_execution(facts: Facts) -> Fields:
    return about(facts.id, facts.trace, facts.workflow_id)


def about_call(call: Call, correlation: str | None = None) -> Fields:
    """`correlation` is that of what the call waits for, if it is known."""
    fields = {**about(call.execution_id, call.trace, call.workflow_id), "node_id": call.node_id}
    return fields if correlation is None else {**fields, "correlation_id": correlation}
