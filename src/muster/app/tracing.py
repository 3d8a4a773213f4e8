"""Where spans go, by the settings: to a collector, by OTLP over HTTP; or nowhere, and nothing is loaded."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from muster.app.settings import Settings, TracingSettings
from muster.app.storage import CannotOpen
from muster.engine.tracing import Tracer

PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"


@asynccontextmanager
async def opened_tracer(settings: Settings, environment: Mapping[str, str]) -> AsyncIterator[Tracer | None]:
    """Who is told of spans until the end of the block; None: nobody. Raises `CannotOpen`."""
    address = address_of(settings.tracing)
    if address is None or not is_wanted(environment):
        yield None
        return
    _check_protocol(environment)
    # Here, since loading it takes longer than a start may take without.
    from muster.app.telemetry import exported_to, left

    tracer = exported_to(address, settings.instance_id)
    try:
        yield tracer
    finally:
        await left(tracer)


def address_of(settings: TracingSettings) -> str | None:
    """The whole address that spans are sent to."""
    if settings.traces_endpoint is not None or settings.endpoint is None:
        return settings.traces_endpoint
    return f"{settings.endpoint.rstrip('/')}/v1/traces"


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether nobody has switched it off for all programs alike."""
    exporters = environment.get("OTEL_TRACES_EXPORTER") or "otlp"
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and "otlp" in map(str.strip, exporters.split(","))


def _check_protocol(environment: Mapping[str, str]) -> None:
    for name in PROTOCOLS:
        if (given := environment.get(name)) and given != SPOKEN:
            raise CannotOpen(f"{name} is `{given}`: traces are sent by `{SPOKEN}`, most often to port 4318.")
