"""Logs: a line for a program or a person, and no secret in either."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextvars import copy_context

import pytest
import structlog

from muster.api.tracing import RequestIds, current
from muster.app.logs import configure_logs
from muster.app.settings import LogSettings


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _log_within(ids: RequestIds) -> None:
    current.set(ids)
    structlog.get_logger("muster.x").info("done", count=3)


def test_away_from_a_terminal_every_line_is_json_with_its_ids() -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(), stream)
    copy_context().run(_log_within, RequestIds("r1", "t1"))
    (line,) = lines(stream)
    assert (line["event"], line["count"], line["request_id"], line["trace_id"]) == ("done", 3, "r1", "t1")
    assert line["level"] == "info"
    assert str(line["timestamp"]).endswith("Z")


def test_a_librarys_lines_take_the_same_way() -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(), stream)
    logging.getLogger("uvicorn.error").warning("odd %s", "thing")
    assert lines(stream)[0]["event"] == "odd thing"


@pytest.mark.parametrize(("raised", "count"), [(asyncio.CancelledError, 0), (OSError, 1)])
def test_a_connection_that_is_closed_in_a_hurry_is_no_news(raised: type[BaseException], count: int) -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(), stream)
    try:
        raise raised
    except (asyncio.CancelledError, OSError):
        logging.getLogger("sqlalchemy.pool.impl.Pool").exception("Exception terminating connection")
    assert len(lines(stream)) == count


def test_secrets_are_masked_by_name_and_in_urls() -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(), stream)
    structlog.get_logger("x").info("opened", password="hunter2", url="postgresql://me:hunter2@db/x")
    assert "hunter2" not in stream.getvalue()
    assert "postgresql://me:***@db/x" in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_traceback_shows_no_local_variables(form: str) -> None:
    stream = io.StringIO()
    configure_logs(LogSettings.model_validate({"format": form}), stream)
    payload = "hunter2"
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        structlog.get_logger("x").exception("failed")
    assert "RuntimeError" in stream.getvalue()
    assert payload not in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_exception_is_told_by_its_kind_and_place_and_not_in_its_words(form: str) -> None:
    stream = io.StringIO()
    configure_logs(LogSettings.model_validate({"format": form}), stream)
    try:
        int("hunter2")
    except ValueError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("library").exception("failed")
    assert stream.getvalue().count("ValueError") == 2
    assert stream.getvalue().count("test_an_exception_is_told_by_its_kind") == 2
    assert "invalid literal" not in stream.getvalue(), "the words quote what came"


def test_what_is_below_the_level_is_left_out() -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(level="warning"), stream)
    structlog.get_logger("x").info("chatter")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("url", ["postgresql://me:hunter2@db/x", "postgresql://me:s/hunter2@db/x"])
def test_a_password_in_what_is_told_as_a_reason_is_masked(form: str, url: str) -> None:
    stream = io.StringIO()
    configure_logs(LogSettings.model_validate({"format": form}), stream)
    try:
        raise RuntimeError(f"cannot reach {url}")
    except RuntimeError as error:
        structlog.get_logger("x").exception(
            "failed", reason=str(error), tried=[url], about={"password": "hunter2"}
        )
        logging.getLogger("library").exception("failed")
    assert stream.getvalue().count("cannot reach postgresql://me:***@db/x") == 1
    assert "hunter2" not in stream.getvalue()


def test_a_line_is_written_whatever_it_holds() -> None:
    stream = io.StringIO()
    configure_logs(LogSettings(), stream)
    structlog.get_logger("muster.x").info("odd", half="\ud800", huge=10**30, thing=object, keys={1: "a"})
    (line,) = lines(stream)
    assert (line["half"], line["huge"], line["keys"]) == ("\ud800", 10**30, {"1": "a"})
