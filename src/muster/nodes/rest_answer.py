"""What an HTTP answer comes to: done, or a failure that may or may not pass."""

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import orjson

from muster.definitions.jsontext import too_deep
from muster.definitions.schema import holds_expression
from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.engine.view import Layered
from muster.expr import ExpressionError, Scope, compile_condition, compile_mapping, to_boolean
from muster.model.json import Json, JsonObject
from muster.model.text import made_suitable
from muster.nodes.ports import HttpAnswer
from muster.nodes.resolved import BadParameter

PASSING = frozenset({408, 425, 429})
LONGEST_PAUSE = 86_400.0
DEEPEST = 200
NEVER_SHOWN = frozenset(
    {
        "set-cookie",
        "set-cookie2",
        "cookie",
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "x-auth-token",
    }
)
_JSON = re.compile(r"application/(?:[^;\s]+\+)?json", re.IGNORECASE)
_TEXT = re.compile(r"text/|application/(?:xml|javascript|x-www-form-urlencoded|[^;\s]+\+xml)", re.IGNORECASE)
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9._-]{1,40})", re.IGNORECASE)
_STATUSES = re.compile(r"\s*[1-5](?:[0-9]{2}|xx)\s*(?:[,|]\s*[1-5](?:[0-9]{2}|xx)\s*)*", re.IGNORECASE)


class BadAnswer(ValueError):
    """The answer cannot be kept; the message says why."""


def document_of(answer: HttpAnswer, hidden: frozenset[str]) -> JsonObject:
    """The answer as expressions and the context see it. Headers that may hold secrets are left out.

    Raises `BadAnswer`.
    """
    headers: JsonObject = {}
    for name, _ in answer.headers:
        if name not in NEVER_SHOWN and name not in hidden:
            headers[name] = made_suitable(answer.header(name) or "")
    return {"status": answer.status, "headers": headers, "body": body_of(answer)}


def body_of(answer: HttpAnswer) -> Json:
    """JSON as its value, text as text, anything else in Base64; nothing as null."""
    kind = answer.header("content-type") or ""
    if not answer.content:
        return None
    if _JSON.match(kind):
        try:
            return _storable(answer.content, orjson.loads(answer.content))
        except orjson.JSONDecodeError:
            pass  # it is not what it says: text, then
    if _TEXT.match(kind) or not kind or _JSON.match(kind):
        return made_suitable(_decoded(answer.content, kind))
    return b64encode(answer.content).decode("ascii")


def _decoded(content: bytes, kind: str) -> str:
    charset = _CHARSET.search(kind)
    try:
        return content.decode(charset[1] if charset else "utf-8", errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


def _storable(content: bytes, value: Json) -> Json:
    """The value as every database holds it. Few answers need more than these two counts."""
    if content.count(b"[") + content.count(b"{") > DEEPEST and too_deep(value, DEEPEST):
        raise BadAnswer(f"the answer is nested more than {DEEPEST} deep")
    return _without_nul(value) if b"\\u0000" in content else value


def _without_nul(value: Json) -> Json:
    if isinstance(value, str):
        return made_suitable(value)
    if isinstance(value, list):
        return [_without_nul(each) for each in value]
    if isinstance(value, dict):
        return {made_suitable(key): _without_nul(each) for key, each in value.items()}
    return value


def expectation_flaw(expect: Json) -> str | None:
    """What is wrong with an `expect` as its author wrote it; None: nothing that can be told before."""
    if not isinstance(expect, str) or _STATUSES.fullmatch(expect):
        return None
    if holds_expression(expect):
        return "Write the condition in `expect` without `#{}`: it is asked once the answer is there."
    try:
        compile_condition(expect)
    except ExpressionError as error:
        return f"`expect` is neither statuses nor a condition: {error.message}."
    return None


def is_expected(expect: Json, document: JsonObject, scope: Scope) -> bool:
    """Whether the answer is what the author expects: 2xx if they do not say. Raises `BadParameter`."""
    status = document["status"]
    assert isinstance(status, int)
    match expect:
        case None:
            return 200 <= status < 300
        case bool():
            raise BadParameter(
                "write a condition in `expect` without `#{}`: it is asked once the answer is there"
            )
        case int() | list():
            wanted = expect if isinstance(expect, list) else [expect]
            return any(_fits(status, str(each)) for each in wanted)
        case str() if _STATUSES.fullmatch(expect):
            return any(_fits(status, each) for each in re.split(r"[,|]", expect))
        case str():
            return _holds(expect, document, scope)
        case _:
            raise BadParameter("`expect` is a status, a list of them or a condition")


def _fits(status: int, wanted: str) -> bool:
    """`404` fits itself, `2xx` all that begin so."""
    digits = zip(str(status), wanted.strip().lower(), strict=False)
    return len(wanted.strip()) == 3 and all(wish in ("x", digit) for digit, wish in digits)


def _holds(condition: str, document: JsonObject, scope: Scope) -> bool:
    seen = Layered({**document, "response": document}, scope.root)
    try:
        return to_boolean(compile_condition(condition).evaluate(Scope(seen, scope.now, scope.identity)))
    except ExpressionError as error:
        raise BadParameter(f"`expect`: {error}") from None


def may_pass(status: int) -> bool:
    """Whether asking again later makes sense."""
    return status >= 500 or status in PASSING


def refusal(answer: HttpAnswer, now: datetime) -> Failure:
    """An answer that was not expected. It names the host and the status; the rest may hold secrets."""
    passing = may_pass(answer.status)
    pause = retry_after(answer.header("retry-after"), now) if passing else None
    kind = "UnexpectedAnswer" if 200 <= answer.status < 300 else f"HTTP_{answer.status}"
    return Failure(kind, f"{answer.host} answered {answer.status}", passing, pause)


def retry_after(value: str | None, now: datetime) -> float | None:
    """`Retry-After` in seconds from now, a day at most; None: it is missing or makes no sense."""
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]{1,10}", text):
        return min(float(text), LONGEST_PAUSE)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max((aware - now).total_seconds(), 0.0), LONGEST_PAUSE)


def done(document: JsonObject, mapping: Mapping[str, Json]) -> Done:
    """With a mapping, the context gets what it names; without one, the answer itself.

    A path leads into the answer (`$.body.id`, `$.status`); one that finds nothing there leads into its body.
    """
    if not mapping:
        return Done(document, document)
    changes: JsonObject = {}
    warnings = []
    for name, path in mapping.items():
        changes[name], found = _find(str(path), document)
        if not found:
            warnings.append(f"`{name}`: nothing is at `{path}` in the answer")
    return Done(document, changes, tuple(warnings))


def _find(path: str, document: JsonObject) -> tuple[Json, bool]:
    compiled = compile_mapping(path)
    value, found = compiled.lookup(document)
    return (value, True) if found else compiled.lookup(document["body"])
