"""What a request brings to the triggers that it fires: a context to start with, and itself as `_trigger`."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from muster.engine.idempotency import value_text
from muster.expr import ExpressionError
from muster.model.json import Json, JsonObject

# What tells of a message, or of its way. Any other header may be somebody's key: who knows how they call it.
_SHOWN = frozenset(
    (
        "content-type",
        "content-language",
        "user-agent",
        "date",
        "webhook-id",
        "webhook-timestamp",
        "x-request-id",
        "x-correlation-id",
        "traceparent",
        "tracestate",
    )
)
_OF_EVENT = re.compile(
    r"x-(?:[a-z0-9]+-)*(?:event|delivery|topic)(?:-(?:id|type|name|key|time|version))?"
    r"|ce-(?:id|type|source|subject|time|specversion|dataschema)"
)
# What lets somebody in, by its name, of what the sender's own addresses carry.
_SECRET = re.compile(
    r"token|secret|passw|passphrase|signature|credential|cookie|session|jwt|hmac|bearer|assertion|api-?key"
    r"|access-?key|oauth|authori[sz]|authenti|(?<![a-z])(?:auth|key|sig|sid|pwd|otp)(?![a-z])|^code$"
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
EVENT_ID = "eventId"


def context_of(body: Json) -> JsonObject:
    """The fields of a body; one that is no object has none."""
    return body if isinstance(body, dict) else {}


def payload_of(body: Json, headers: Iterable[tuple[str, str]], query: Mapping[str, str]) -> JsonObject:
    """A body's fields, and beside them the body as it is, the headers that tell of the message, and what is
    nobody's secret of the query."""
    return {
        **context_of(body),
        "body": body,
        "headers": {name: value for name, value in headers if _tells(name)},
        "query": {name: value for name, value in query.items() if not _is_secret(name)},
    }


@lru_cache(maxsize=1024)
def _tells(header: str) -> bool:
    return header in _SHOWN or _OF_EVENT.fullmatch(header) is not None


@lru_cache(maxsize=1024)
def _is_secret(parameter: str) -> bool:
    return _SECRET.search(_WORDS.sub("-", parameter).lower()) is not None


def event_id_of(body: Json) -> str | None:
    """What an event calls itself in its body, written as a key has it, whatever kind of value it is: what is
    there must not count as missing, or the next event of that kind would be taken for the same."""
    found = context_of(body).get(EVENT_ID)
    try:
        return None if found is None or found == "" else value_text(found)
    except ExpressionError:
        return None  # a list or an object that is larger than any text may become
