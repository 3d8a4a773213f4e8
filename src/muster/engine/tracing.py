"""Executions as traces: their ids, what goes along with all that leaves them, and who is told of spans.

Ids are made from what a span is of, so that nothing has to be remembered: whoever drives an execution next
makes the same, and a visit that began on one instance and ended on another is one span.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple, Protocol

from muster.kit.traceparent import TraceParent, read_traceparent


class SpanKind(Enum):
    INTERNAL = auto()
    CLIENT = auto()
    SERVER = auto()
    CONSUMER = auto()


class Trace(NamedTuple):
    """A trace, and the span of another program that the execution goes on from, if there is one."""

    trace_id: str
    parent: TraceParent | None


class Waiter(NamedTuple):
    """Who waits: a visit of an execution, and the `traceparent` that this was started with."""

    execution_id: str
    node: str
    visit: int
    trace: str | None


class Span(NamedTuple):
    """Something that is over. `attributes` tell which one it is of many, and never what is in it; `error` is
    a kind of failure; `linked` is a span of another trace that this one follows from."""

    trace_id: str
    id: str
    parent: str | None
    name: str
    kind: SpanKind
    began: datetime
    ended: datetime
    attributes: Mapping[str, str | int]
    error: str | None = None
    linked: TraceParent | None = None


class Tracer(Protocol):
    """Who is told of spans. Telling must neither wait nor fail: it happens between the steps of
    executions."""

    def records(self, trace: Trace) -> bool:
        """Whether spans of this trace are wanted: the same at every time, on every instance."""
        ...

    def ended(self, span: Span) -> None: ...


def trace_of(execution_id: str, given: str | None) -> Trace:
    """The trace that an execution belongs to: that of the `traceparent` it was started with, or its own."""
    parent = read_traceparent(given)
    return Trace(own_trace_id(execution_id) if parent is None else parent.trace_id, parent)


def own_trace_id(execution_id: str) -> str:
    return blake2b(execution_id.encode(), digest_size=16).hexdigest()


def span_id(*names: str | int) -> str:
    """The id of the span of something that these names tell from all else."""
    return blake2b("\n".join(map(str, names)).encode(errors="replace"), digest_size=8).hexdigest()


def leaving(
    tracer: Tracer | None, execution_id: str, given: str | None, node: str, visit: int, item: str
) -> str | None:
    """The `traceparent` of what a visit sends: under the visit's span, where there is one. Else what was
    given goes on as it came: nobody is to look for a span that nobody has."""
    if tracer is None:
        return given
    trace = trace_of(execution_id, given)
    return str(TraceParent(trace.trace_id, span_id(execution_id, node, visit, item), tracer.records(trace)))
