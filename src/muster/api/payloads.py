"""What a request brings to the triggers that it fires: a context to start with, and itself as `_trigger`."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from muster.model.json import Json, JsonObject

# Whatever could let somebody in.
_SECRET = re.compile(r"authorization|cookie|signature|token|secret|password|credential|api-?key")
# What is about the connection alone.
_OF_CONNECTION = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "accept", "accept-encoding", "expect", "te")
)
EVENT_ID = "eventId"


def context_of(body: Json) -> JsonObject:
    """The fields of a body; one that is no object has none."""
    return body if isinstance(body, dict) else {}


def payload_of(body: Json, headers: Iterable[tuple[str, str]], query: Mapping[str, str]) -> JsonObject:
    """A body's fields, and beside them the body as it is, and what is nobody's secret of the headers and the
    query."""
    return {
        **context_of(body),
        "body": body,
        "headers": {name: value for name, value in headers if name not in _OF_CONNECTION and _is_shown(name)},
        "query": {name: value for name, value in query.items() if _is_shown(name.lower())},
    }


@lru_cache(maxsize=1024)
def _is_shown(name: str) -> bool:
    return _SECRET.search(name) is None


def event_id_of(body: Json) -> str | None:
    """What an event calls itself in its body."""
    found = context_of(body).get(EVENT_ID)
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None
