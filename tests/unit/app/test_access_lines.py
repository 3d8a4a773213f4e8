"""The lines of requests: written on a way of their own, and the same as if they took everybody's."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from muster.api.frame import Access, logged
from muster.api.tracing import RequestIds
from muster.app.logs import AccessLines, configure_logs
from muster.app.settings import LogSettings

IDS = RequestIds("order-17", "4bf92f3577b34da6a3ce929d0e0e4736")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def as_everybody(ids: RequestIds, method: str, path: str, status: int, ms: float) -> None:
    """As `logged` does, with a logger that nobody keeps for the tests after this."""
    log = structlog.get_logger("muster.access")
    known = {"request_id": ids.request_id, "trace_id": ids.trace_id}
    log.info("request", method=method, path=path, status=status, ms=ms, **known)


def line_of(access: Access, stream: io.StringIO, path: str = "/api/workflow/execute") -> dict[str, Any]:
    stream.seek(0)
    stream.truncate()
    access(IDS, "POST", path, 202, 1.5)
    (line,) = stream.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize("path", ["/api/workflow/execute", "/proxy/http://me:hunter2@db/x", '/odd\ufffd\\"'])
def test_a_requests_line_is_the_one_that_the_formatter_makes(path: str) -> None:
    stream = io.StringIO()
    access = configure_logs(LogSettings(), stream)
    assert isinstance(access, AccessLines)
    ours, everybodys = line_of(access, stream, path), line_of(as_everybody, stream, path)
    assert len(ours.pop("timestamp")) == len(everybodys.pop("timestamp"))
    assert ours == everybodys
    assert "hunter2" not in str(ours)


@pytest.mark.parametrize("other", [{"format": "text"}, {"level": "warning"}])
def test_for_people_and_below_the_level_it_takes_everybodys_way(other: dict[str, str]) -> None:
    assert configure_logs(LogSettings.model_validate(other), io.StringIO()) is logged


def test_a_request_is_answered_where_no_line_can_be_written() -> None:
    stream = io.StringIO()
    access = configure_logs(LogSettings(), stream)
    stream.close()
    access(IDS, "GET", "/docs", 200, 1.5)
