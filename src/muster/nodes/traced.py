"""What comes for those who wait, as spans of their traces: who received it, when, and from where."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from muster.engine.commands import Received, Reception, Reply
from muster.engine.event_waits import Accepted, Arrived, Source, Verdict
from muster.engine.tracing import Span, SpanKind, Trace, Tracer, Waiter, span_id, trace_of
from muster.kit.clock import Clock
from muster.kit.traceparent import HEADER, read_traceparent
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry
from muster.nodes.command_replies import Replies
from muster.nodes.event_waiting import Applies
from muster.nodes.reply_names import Expecting, ReplyTopic
from muster.nodes.waiting_for_events import EventWaits, KeptWait


class EventSpans:
    """Tells a tracer of each event that a wait has taken."""

    def __init__(self, tracer: Tracer, clock: Clock) -> None:
        self._tracer, self.now = tracer, clock.now

    def met(self, taken: Sequence[tuple[Arrived, Accepted]]) -> None:
        """These were kept, and have met their waits just now."""
        at = self.now()
        for event, accepted in taken:
            self.taken(event, accepted, at)

    def taken(self, event: Arrived, verdict: Verdict, began: datetime) -> None:
        if isinstance(verdict, Accepted) and (waiter := verdict.waiter) is not None:
            trace = trace_of(waiter.execution_id, waiter.trace)
            if self._tracer.records(trace):
                self._tracer.ended(_event(event, verdict, waiter, trace, began, self.now()))


class TracedWaits:
    """`EventWaits` that tell of each event that a wait has taken."""

    def __init__(self, waits: EventWaits, spans: EventSpans) -> None:
        self._waits, self._spans = waits, spans

    async def find(self, execution_id: str, node: str, visit: int) -> KeptWait | None:
        return await self._waits.find(execution_id, node, visit)

    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        began = self._spans.now()
        verdicts = await self._waits.receive(events)
        for event, verdict in zip(events, verdicts, strict=True):
            self._spans.taken(event, verdict, began)
        return verdicts


class TracedApplies:
    """`Applies` that tell of each event that a person has given to a wait."""

    def __init__(self, applies: Applies, spans: EventSpans) -> None:
        self._applies, self._spans = applies, spans

    async def apply(self, near_miss: int, wait_id: str, event: Arrived, audit: AuditEntry) -> Verdict:
        began = self._spans.now()
        verdict = await self._applies.apply(near_miss, wait_id, event, audit)
        self._spans.taken(event, verdict, began)
        return verdict


class TracedReplies:
    """`Replies` that tell of each reply that a command has taken."""

    def __init__(self, replies: Replies, tracer: Tracer, clock: Clock) -> None:
        self._replies, self._tracer, self._clock = replies, tracer, clock

    async def topics(self) -> Collection[ReplyTopic]:
        return await self._replies.topics()

    async def expecting(self, correlations: Collection[str]) -> Mapping[str, Expecting]:
        return await self._replies.expecting(correlations)

    async def schemas(self, topics: Collection[str]) -> Mapping[str, Sequence[JsonObject]]:
        return await self._replies.schemas(topics)

    async def receive(self, replies: Sequence[Reply]) -> Sequence[Reception]:
        began = self._clock.now()
        came = await self._replies.receive(replies)
        ended = self._clock.now()
        for reply, reception in zip(replies, came, strict=True):
            if reception.received is Received.ACCEPTED and (waiter := reception.waiter) is not None:
                trace = trace_of(waiter.execution_id, waiter.trace)
                if self._tracer.records(trace):
                    self._tracer.ended(_reply(reply, waiter, trace, began, ended))
        return came


def _event(
    event: Arrived, accepted: Accepted, waiter: Waiter, trace: Trace, began: datetime, ended: datetime
) -> Span:
    kind = SpanKind.CONSUMER if event.source is Source.KAFKA else SpanKind.SERVER
    if event.by_hand:
        kind = SpanKind.INTERNAL
    told: dict[str, str | int] = {
        "muster.event.name": accepted.name,
        "muster.event.source": event.source.value,
        "muster.wait.completed": accepted.completes,
        "muster.event.matched_by": "hand" if event.by_hand else "key" if event.key else "ids",
    }
    span = _received(waiter, trace, accepted.name, event.trace, kind, began, ended)
    return span._replace(attributes={**span.attributes, **told})


def _reply(reply: Reply, waiter: Waiter, trace: Trace, began: datetime, ended: datetime) -> Span:
    given = next((value for name, value in reply.headers.items() if name.casefold() == HEADER), None)
    name, parent = f"reply {reply.correlation_id}", str(given) if given is not None else None
    span = _received(waiter, trace, name, parent, SpanKind.CONSUMER, began, ended)
    told = {**span.attributes, "messaging.destination.name": reply.topic}
    error = None if reply.error is None else "CommandError"
    return span._replace(name="receive reply", attributes=told, error=error)


def _received(
    waiter: Waiter,
    trace: Trace,
    what: str,
    given: str | None,
    kind: SpanKind,
    began: datetime,
    ended: datetime,
) -> Span:
    """Below the span of its sender, where that is of the execution's own trace; else below the visit that
    waited, and linked with its sender's."""
    sender = read_traceparent(given)
    visit = span_id(waiter.execution_id, waiter.node, waiter.visit, "")
    is_ours = sender is not None and sender.trace_id == trace.trace_id
    return Span(
        trace.trace_id,
        span_id(waiter.execution_id, waiter.node, waiter.visit, "receive", what),
        sender.span_id if sender is not None and is_ours else visit,
        f"receive {what}",
        kind,
        began,
        ended,
        {
            "muster.execution.id": waiter.execution_id,
            "muster.node.id": waiter.node,
            "muster.node.visit": waiter.visit,
        },
        linked=None if is_ours else sender,
    )
