"""What a request brings to the triggers that it fires: a context to start with, and itself as `_trigger`."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from muster.model.json import Json, JsonObject

# Whatever could let somebody in, and what only the connection is about.
_LEFT_OUT = re.compile(
    r"authorization|cookie|signature|token|secret|password|credential|api-?key"
    r"|^(host|connection|content-length|transfer-encoding|accept|accept-encoding|expect|te|upgrade)$"
)
EVENT_ID = "eventId"


def context_of(body: Json) -> JsonObject:
    """The fields of a body; one that is no object has none."""
    return body if isinstance(body, dict) else {}


def payload_of(body: Json, headers: Iterable[tuple[str, str]], query: Mapping[str, str]) -> JsonObject:
    """A body's fields, and beside them the body as it is, the headers that are nobody's secret, and the
    query."""
    shown: JsonObject = {name: value for name, value in headers if _is_shown(name)}
    return {**context_of(body), "body": body, "headers": shown, "query": dict(query)}


@lru_cache(maxsize=1024)
def _is_shown(header: str) -> bool:
    return _LEFT_OUT.search(header) is None


def event_id_of(body: Json) -> str | None:
    """What an event calls itself in its body."""
    found = context_of(body).get(EVENT_ID)
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None
