"""Whether traces are recorded, and where they go."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.app.load import SettingsError, load
from muster.app.settings import TracingSettings
from muster.app.tracing import address_of, is_wanted

LOADED = """
import asyncio, os, sys
from muster.app.settings import Settings
from muster.app.tracing import opened_tracer

async def main() -> None:
    async with opened_tracer(Settings(), os.environ) as tracer:
        assert tracer is None

asyncio.run(main())
print([name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))])
"""


def test_an_endpoint_is_that_of_all_signals_and_the_other_the_whole_address() -> None:
    assert address_of(TracingSettings()) is None
    assert address_of(TracingSettings(endpoint="http://c:4318/")) == "http://c:4318/v1/traces"
    both = TracingSettings(endpoint="http://c:4318", traces_endpoint="http://other/in")
    assert address_of(both) == "http://other/in"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_SDK_DISABLED": "false"}, True),
    ],
)
def test_the_variables_of_all_programs_can_switch_it_off(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) is wanted


def test_the_usual_variables_are_settings(tmp_path: Path) -> None:
    given = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/in",
    }
    tracing = load(given, {}, tmp_path).settings.tracing
    assert (tracing.endpoint, tracing.traces_endpoint) == tuple(given.values())


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"tracing\.endpoint \(from OTEL_EXPORTER_OTLP_ENDPOINT\)"):
        load({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, {}, tmp_path)


def test_without_an_endpoint_nothing_is_loaded() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout.strip() == "[]"
