"""Which request this is: its own id, and the trace that it belongs to (W3C Trace Context)."""

import re
import secrets
from contextvars import ContextVar
from typing import NamedTuple

from muster.kit.traceparent import read_traceparent

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RequestIds(NamedTuple):
    """`traceparent` is the caller's, if it sent one: what is begun by the request goes on from there."""

    request_id: str
    trace_id: str
    traceparent: str | None = None


current: ContextVar[RequestIds] = ContextVar("request_ids")


def ids_of(request_id: str | None, traceparent: str | None) -> RequestIds:
    """The caller's ids where they are sane, else new ones."""
    new = secrets.token_hex(32)
    keep = request_id is not None and _REQUEST_ID.fullmatch(request_id)
    name = request_id if keep and request_id else new[:32]
    parent = read_traceparent(traceparent)
    return RequestIds(name, new[32:]) if parent is None else RequestIds(name, parent.trace_id, str(parent))
