"""REST_SYNC's parameters as a request: checked, so that no value becomes a header of its own."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

import orjson

from muster.definitions.durations import parse_duration
from muster.engine.handlers import Call
from muster.kit.traceparent import HEADER as TRACE_PARENT
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.ports import HttpRequest
from muster.nodes.resolved import BadParameter, object_of, text_of

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
LONGEST_SECONDS = 600.0
FORM = "application/x-www-form-urlencoded"
# These are the connection's own, and belong to whoever makes it.
OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"}
)
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[\x21-\x7e]{1,200}")


def request_of(params: JsonObject, call: Call) -> HttpRequest:
    """The request that the parameters describe. Raises `BadParameter`."""
    method = (text_of(params.get("method"), "method") or "GET").upper()
    if method not in METHODS:
        raise BadParameter(f"`method` is `{method[:20]}`; {', '.join(METHODS)} can be used")
    headers = [*_headers(params), *_auth(object_of(params.get("auth"), "auth"))]
    given = {name.lower(): value for name, value in headers}
    content, kind = _content(params.get("body"), given.get("content-type"))
    if kind is not None and "content-type" not in given:
        headers.append(("Content-Type", kind))
    if "idempotency-key" not in given:
        headers.append(("Idempotency-Key", header_key(call.key)))
    if call.traceparent is not None and TRACE_PARENT not in given:
        headers.append((TRACE_PARENT, call.traceparent))
    return HttpRequest(method, _url(params), tuple(headers), content, _seconds(params))


def header_key(key: str) -> str:
    """The effect's key, or its digest where a header could not carry it: item keys are anybody's."""
    return key if _PLAIN_KEY.fullmatch(key) else hashlib.sha256(key.encode(errors="replace")).hexdigest()


def secret_headers(params: JsonObject) -> frozenset[str]:
    """The names, in lower case, of the headers that this node authenticates with."""
    auth = params.get("auth")
    name = auth.get("header") if isinstance(auth, dict) else None
    return frozenset({"authorization", name.lower()} if isinstance(name, str) else {"authorization"})


def _headers(params: JsonObject) -> Iterator[tuple[str, str]]:
    for name, value in object_of(params.get("headers"), "headers").items():
        text = text_of(value, f"headers.{name[:40]}")
        if text is not None:
            yield _header(name, text)


def _header(name: str, value: str) -> tuple[str, str]:
    if _NAME.fullmatch(name) is None:
        raise BadParameter(f"`{_shown(name)}` is no name of a header")
    if name.lower() in OURS or name.lower().startswith("proxy-"):
        raise BadParameter(f"the header `{name}` is set by the connection, not by a workflow")
    if _BREAKS.search(value):
        raise BadParameter(f"the header `{name}` holds a line break or another control character")
    return name, value.strip(" \t")


def _auth(auth: JsonView) -> Iterator[tuple[str, str]]:
    match auth.get("type", "none"):
        case "none":
            return
        case "bearer":
            yield _header("Authorization", f"Bearer {_needed(auth, 'token')}")
        case "basic":
            pair = f"{_needed(auth, 'username')}:{text_of(auth.get('password'), 'auth.password') or ''}"
            yield "Authorization", f"Basic {b64encode(pair.encode()).decode('ascii')}"
        case "header":
            yield _header(_needed(auth, "header"), _needed(auth, "value"))
        case _:
            raise BadParameter("`auth.type` is `none`, `bearer`, `basic` or `header`")


def _needed(auth: JsonView, name: str) -> str:
    text = text_of(auth.get(name), f"auth.{name}")
    if not text:
        raise BadParameter(f"`auth.{name}` is empty")
    return text


def _content(body: Json, kind: str | None) -> tuple[bytes | None, str | None]:
    """The body's bytes and what they are: text as it is, anything else as JSON, or as a form if so headed."""
    if body is None:
        return None, None
    if isinstance(body, str):
        return body.encode(errors="replace"), "text/plain; charset=utf-8"
    if isinstance(body, dict) and kind is not None and kind.partition(";")[0].strip().lower() == FORM:
        return urlencode(list(_pairs(body, "body"))).encode(), FORM
    try:
        return orjson.dumps(body), "application/json"
    except orjson.JSONEncodeError:
        raise BadParameter("`body` cannot be written as JSON") from None


def _url(params: JsonObject) -> str:
    url = text_of(params.get("url"), "url")
    if not url:
        raise BadParameter("`url` is empty")
    pairs = list(_pairs(object_of(params.get("query"), "query"), "query"))
    address, mark, fragment = url.partition("#")
    if pairs:
        address += ("&" if "?" in address else "?") + urlencode(pairs, quote_via=quote)
    return address + mark + fragment


def _pairs(values: Mapping[str, Json], name: str) -> Iterator[tuple[str, str]]:
    """Names and values; a list gives its name several times, null not at all."""
    for key, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            text = text_of(each, f"{name}.{key[:40]}")
            if text is not None:
                yield key, text


def _seconds(params: JsonObject) -> float:
    try:
        seconds = parse_duration(params.get("timeout", "30s") or "30s").total_seconds()
    except ValueError as wrong:
        raise BadParameter(f"`timeout`: {wrong}") from None
    if not 0 < seconds <= LONGEST_SECONDS:
        raise BadParameter(f"`timeout` is between nothing and {LONGEST_SECONDS:g} s")
    return seconds


def _shown(name: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in name[:40])
