"""Events that are watched, as spans: each belongs to its sender's trace, or has one of its own, from where it
is taken in through all stages."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muster.engine.bus import Batch, Handler, Position, Rejected, records_positions
from muster.engine.bus import trace_of as sent_with
from muster.engine.tracing import Span, SpanKind, Trace, Tracer, span_id, trace_of
from muster.kit.clock import Clock
from muster.kit.traceparent import TraceParent
from muster.model.watching import Event
from muster.watch.ports import Events, Received


class TracedEvents:
    """`Events` that tell of each that is new. What follows from one goes on below its span. `verb` says what
    is done with them here."""

    def __init__(self, events: Events, tracer: Tracer, clock: Clock, verb: str, kind: SpanKind) -> None:
        self._events, self._tracer, self._clock = events, tracer, clock
        self._verb, self._kind = verb, kind

    async def take(self, events: Sequence[Event], positions: Sequence[Position] = ()) -> Received:
        began = self._clock.now()
        traces = [_trace(event) for event in events]
        pairs = zip(events, traces, strict=True)
        below = [self._below(event, trace) for event, trace in pairs]
        received = await self._events.take(below, positions)
        ended = self._clock.now()
        for event, trace, is_known in zip(events, traces, received.duplicates, strict=True):
            if not is_known and self._tracer.records(trace):
                self._tracer.ended(self._span(event, trace, began, ended))
        return received

    def _below(self, event: Event, trace: Trace) -> Event:
        span = TraceParent(trace.trace_id, self._id(event), self._tracer.records(trace))
        return replace(event, trace=str(span))

    def _id(self, event: Event) -> str:
        return span_id(self._verb, *_name(event))

    def _span(self, event: Event, trace: Trace, began: datetime, ended: datetime) -> Span:
        known: dict[str, str | int] = {
            "muster.event.type": event.event_type,
            "muster.event.id": event.event_id,
            "muster.event.source_system": event.source_system,
        }
        if event.institute_id:
            known["muster.institute.id"] = event.institute_id
        return Span(
            trace.trace_id,
            self._id(event),
            trace.parent.span_id if trace.parent else None,
            f"{self._verb} {event.event_type}",
            self._kind,
            began,
            ended,
            known,
        )


class TracedStage:
    """A `Handler` of a stage that runs elsewhere than the one before it: tells of each message that belongs
    to a trace."""

    def __init__(self, handler: Handler, tracer: Tracer, clock: Clock, verb: str) -> None:
        self._handler, self._tracer, self._clock, self._verb = handler, tracer, clock, verb
        self.records_positions = records_positions(handler)

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        began = self._clock.now()
        rejected = await self._handler(batch)
        ended = self._clock.now()
        for message in batch.messages:
            trace = trace_of(message.name, sent_with(message))
            if trace.parent is not None and self._tracer.records(trace):
                told = {"messaging.destination.name": message.topic}
                names = (trace.trace_id, span_id(self._verb, message.name), trace.parent.span_id, self._verb)
                self._tracer.ended(Span(*names, SpanKind.CONSUMER, began, ended, told))
        return rejected


def _trace(event: Event) -> Trace:
    return trace_of("\n".join(_name(event)), event.trace)


def _name(event: Event) -> tuple[str, str, str]:
    return event.institute_id, event.source_system, event.event_id
