"""Logs: one line an event, readable on a terminal, JSON otherwise; secrets never."""

import json
import logging
import re
import sys
from functools import lru_cache
from typing import TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from muster.app.settings import LogSettings
from muster.store.address import masked

_SECRET_NAMES = re.compile(r"password|passwd|secret|token|authorization|api[-_]?key|cookie", re.IGNORECASE)
_MASK = "********"


def configure_logs(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Send all lines, our own and the libraries', through one formatter to `stream` (standard error)."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
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
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level.upper())
    for noisy in ("httpx", "httpcore", "asyncio", "alembic", "sqlalchemy", "uvicorn"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def _rendering(settings: LogSettings, stream: TextIO) -> list[Processor]:
    text = settings.format == "text" or (settings.format == "auto" and stream.isatty())
    renderer: Processor
    if text:
        # Plain tracebacks: the pretty ones print local variables, and those may hold a payload.
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)
    else:
        renderer = structlog.processors.JSONRenderer(_json)
    # Exceptions become text before the last look, so that it is a look at them too.
    return [structlog.processors.format_exc_info, without_secrets, renderer]


def _json(event: object, **_: object) -> str:
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a character, say: slower, and it takes everything
        return json.dumps(event, default=repr)


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
