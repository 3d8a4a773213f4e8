"""Logs: one line an event, readable on a terminal, JSON otherwise; secrets and payloads never."""

import asyncio
import json
import logging
import re
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import TextIO

import orjson
import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from muster.api.frame import Access, logged
from muster.api.tracing import RequestIds, current
from muster.app.settings import LogSettings
from muster.bus.kafka_log import Repeats
from muster.kit.faults import without_words
from muster.store.address import masked

_SECRET_NAMES = re.compile(r"password|passwd|secret|token|authorization|api[-_]?key|cookie", re.IGNORECASE)
_MASK = "********"


def configure_logs(settings: LogSettings, stream: TextIO | None = None) -> Access:
    """Send all lines, our own and the libraries', through one formatter to `stream` (standard error). How
    those of requests get there, which are most, is handed back."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        of_this_request,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,  # else one is put together for every line
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(settings, stream),
            ],
        )
    )
    handler.addFilter(_is_news)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level.upper())
    for noisy in ("httpx", "httpcore", "asyncio", "alembic", "sqlalchemy", "uvicorn"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    logging.getLogger("muster.kafka").filters[:] = [Repeats()]
    plain = _is_text(settings, stream) or not root.isEnabledFor(logging.INFO)
    return logged if plain else AccessLines(handler)


class AccessLines:
    """Lines of requests, as the formatter would have made them of theirs: all that it looks for and adds is
    known before, and looking takes longer than many a request."""

    def __init__(self, handler: "logging.StreamHandler[TextIO]") -> None:
        self._handler, self._stream = handler, handler.stream

    def __call__(self, ids: RequestIds, method: str, path: str, status: int, ms: float) -> None:
        line = {
            "method": method,
            "path": masked(path),
            "status": status,
            "ms": ms,
            "event": "request",
            "request_id": ids.request_id,
            "trace_id": ids.trace_id,
            "level": "info",
            "logger": "muster.access",
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        self._handler.acquire()
        try:
            self._stream.write(f"{_json(line)}\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass  # where nothing can be written any more, requests are answered all the same
        finally:
            self._handler.release()


def _is_news(record: logging.LogRecord) -> bool:
    """That who asked was cancelled twice, the second time while its connection was let go of, is none: it is
    closed all the same."""
    raised = record.exc_info[0] if record.exc_info else None
    cancelled = raised is not None and issubclass(raised, asyncio.CancelledError)
    return not (cancelled and record.name.startswith("sqlalchemy.pool"))


def _is_text(settings: LogSettings, stream: TextIO) -> bool:
    return settings.format == "text" or (settings.format == "auto" and stream.isatty())


def _rendering(settings: LogSettings, stream: TextIO) -> list[Processor]:
    renderer: Processor
    if _is_text(settings, stream):
        # Plain tracebacks: the pretty ones print local variables, and those may hold a payload.
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)
    else:
        renderer = structlog.processors.JSONRenderer(_json)
    # Exceptions become text before the last look, so that it is a look at them too.
    return [structlog.processors.ExceptionRenderer(_without_words), without_secrets, renderer]


def _without_words(exc_info: ExcInfo) -> str:
    return without_words(exc_info[1])


def _json(event: object, **_: object) -> str:
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a character, say: slower, and it takes everything
        return json.dumps(event, default=repr)


def of_this_request(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Lines that are written while a request is answered say which, unless they say so themselves."""
    ids = current.get(None)
    return event if ids is None else {"request_id": ids.request_id, "trace_id": ids.trace_id, **event}


def without_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """A last look at every line: values under telling names are masked, and so are passwords in URLs."""
    return {name: _shown(name, value) for name, value in event.items()}


@lru_cache(maxsize=1024)
def _tells_a_secret(name: str) -> bool:
    return _SECRET_NAMES.search(name) is not None


def _shown(name: str, value: object) -> object:
    if _tells_a_secret(name):
        return _MASK
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {inner: _shown(str(inner), each) for inner, each in value.items()}
    return [_shown("", each) for each in value] if isinstance(value, list | tuple) else value
