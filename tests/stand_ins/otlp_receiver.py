"""A collector on loopback: takes spans by OTLP over HTTP, and keeps them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from polling import until
from stand_ins.http_site import Asked, Reply, site

FAILED = Status.STATUS_CODE_ERROR


@dataclass(frozen=True)
class Seen:
    """A span as it came, and the instance that sent it."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    links: list[tuple[str, str]]
    attributes: dict[str, str | int]
    failed: bool
    instance: str


@dataclass
class Receiver:
    url: str = ""
    spans: list[Seen] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def take(self, asked: Asked) -> Reply:
        assert (asked.method, asked.target) == ("POST", "/v1/traces")
        self.bodies.append(asked.body)
        request = ExportTraceServiceRequest.FromString(asked.body)
        for of_resource in request.resource_spans:
            resource = _attributes(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                self.spans += [_seen(span, str(resource["service.instance.id"])) for span in of_scope.spans]
        return Reply(headers={"content-type": "application/x-protobuf"})

    async def named(self, *names: str) -> dict[str, Seen]:
        """The spans of these names, once all of them have come."""

        async def came() -> dict[str, Seen]:
            found = {span.name: span for span in self.spans}
            return found if set(names) <= found.keys() else {}

        return await until(came)


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    taking = Receiver()
    async with site(taking.take) as found:
        taking.url = found.url("").rstrip("/")
        yield taking


def _seen(span: Span, instance: str) -> Seen:
    return Seen(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        _attributes(span.attributes),
        span.status.code == FAILED,
        instance,
    )


def _attributes(pairs: object) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for pair in pairs:  # type: ignore[attr-defined]
        kind = pair.value.WhichOneof("value")
        found[pair.key] = getattr(pair.value, kind)
    return found
