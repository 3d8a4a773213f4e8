"""Which request this is: its own id, and the trace that it belongs to (W3C Trace Context)."""

import re
import secrets
from contextvars import ContextVar
from typing import NamedTuple

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class RequestIds(NamedTuple):
    request_id: str
    trace_id: str


current: ContextVar[RequestIds] = ContextVar("request_ids")


def ids_of(request_id: str | None, traceparent: str | None) -> RequestIds:
    """The caller's ids where they are sane, else new ones."""
    new = secrets.token_hex(32)
    keep = request_id is not None and _REQUEST_ID.fullmatch(request_id)
    return RequestIds(request_id if keep and request_id else new[:32], _trace_id(traceparent) or new[32:])


def _trace_id(traceparent: str | None) -> str | None:
    match = None if traceparent is None else _TRACEPARENT.fullmatch(traceparent)
    if match is None or match[1] == "ff" or not int(match[2], 16) or not int(match[3], 16):
        return None
    return None if match[1] == "00" and match[5] else match[2]
