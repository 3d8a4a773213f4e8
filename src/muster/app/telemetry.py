"""Spans by OpenTelemetry's library, which sends them from a thread of its own. Loaded only where they are
wanted; what it does is said by its own variables, `OTEL_…`."""

import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from opentelemetry import trace as api
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from muster.engine.tracing import Span, SpanKind, Trace
from muster.kit.traceparent import TraceParent

LEAVING_SECONDS = 5.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SAMPLED, NOT_SAMPLED = TraceFlags(TraceFlags.SAMPLED), TraceFlags(TraceFlags.DEFAULT)
KINDS: Mapping[SpanKind, api.SpanKind] = {
    SpanKind.INTERNAL: api.SpanKind.INTERNAL,
    SpanKind.CLIENT: api.SpanKind.CLIENT,
    SpanKind.SERVER: api.SpanKind.SERVER,
    SpanKind.CONSUMER: api.SpanKind.CONSUMER,
}


class Telemetry:
    """An `engine.tracing.Tracer`. Spans are made when they are over, so none is ever open here: a process
    that goes down leaves no half of one."""

    def __init__(self, processor: SpanProcessor, instance: str) -> None:
        self.processor = processor
        own = {
            "service.name": "muster",
            "service.version": version("muster"),
            "service.instance.id": instance,
        }
        # Asked for its sampler, which its variables choose.
        provider = TracerProvider(
            resource=Resource.create().merge(Resource(own)).merge(OTELResourceDetector().detect()),
            shutdown_on_exit=False,
        )
        self._resource, self._sampler = provider.resource, provider.sampler
        self._scope = InstrumentationScope("muster", version("muster"))

    def records(self, trace: Trace) -> bool:
        context = Context()
        if trace.parent is not None:
            context = api.set_span_in_context(NonRecordingSpan(_remote(trace.parent)), context)
        answer = self._sampler.should_sample(context, int(trace.trace_id, 16), "execution")
        return answer.decision is Decision.RECORD_AND_SAMPLE

    def ended(self, span: Span) -> None:
        attributes: dict[str, str | int] = dict(span.attributes)
        if span.error is not None:
            attributes["error.type"] = span.error
        self.processor.on_end(
            ReadableSpan(
                span.name,
                _context(span.trace_id, span.id, SAMPLED),
                None if span.parent is None else _context(span.trace_id, span.parent, SAMPLED),
                self._resource,
                attributes,
                links=() if span.linked is None else (Link(_remote(span.linked)),),
                kind=KINDS[span.kind],
                status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR),
                start_time=_nanoseconds(span.began),
                end_time=_nanoseconds(max(span.began, span.ended)),
                instrumentation_scope=self._scope,
            )
        )


def exported_to(address: str, instance: str) -> Telemetry:
    return Telemetry(BatchSpanProcessor(OTLPSpanExporter(address)), instance)


async def left(telemetry: Telemetry) -> None:
    """Send what is left, for a few seconds at most: nobody's end waits for a collector that is away."""
    sending = threading.Thread(target=telemetry.processor.shutdown, daemon=True)
    sending.start()
    await asyncio.to_thread(sending.join, LEAVING_SECONDS)


def _context(trace_id: str, span_id: str, flags: TraceFlags, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, flags)


def _remote(parent: TraceParent) -> SpanContext:
    flags = SAMPLED if parent.sampled else NOT_SAMPLED
    return _context(parent.trace_id, parent.span_id, flags, is_remote=True)


def _nanoseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND * 1_000
