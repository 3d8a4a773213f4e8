"""Everything that can go wrong, as problem details (RFC 9457) with stable codes."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from http import HTTPStatus

import orjson

from muster.model.json import JsonObject
from muster.model.problems import Problem

MEDIA_TYPE = "application/problem+json"


class Code(StrEnum):
    """What callers may branch on. The reference page explains each; none is ever renamed."""

    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    MALFORMED_BODY = "MALFORMED_BODY"
    INVALID_EVENT = "INVALID_EVENT"
    UNKNOWN_PARAMETER = "UNKNOWN_PARAMETER"
    INVALID_PARAMETER = "INVALID_PARAMETER"
    INVALID_CURSOR = "INVALID_CURSOR"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    NOT_LOOPBACK = "NOT_LOOPBACK"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    BODY_TOO_SLOW = "BODY_TOO_SLOW"
    TAKEN = "TAKEN"
    CONFLICT = "CONFLICT"
    STALE_VERSION = "STALE_VERSION"
    BODY_TOO_LARGE = "BODY_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    INVALID_BODY = "INVALID_BODY"
    INVALID_DEFINITION = "INVALID_DEFINITION"
    EXPRESSION_ERROR = "EXPRESSION_ERROR"
    RATE_LIMITED = "RATE_LIMITED"
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    NOT_CONFIGURED = "NOT_CONFIGURED"
    UNAVAILABLE = "UNAVAILABLE"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    BUS_UNAVAILABLE = "BUS_UNAVAILABLE"
    PROVIDER_UNAVAILABLE = "PROVIDER_UNAVAILABLE"
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS"


MEANINGS: Mapping[Code, tuple[int, str]] = {
    Code.MALFORMED_REQUEST: (400, "This is not HTTP as it should be; the connection ends."),
    Code.MALFORMED_BODY: (400, "The body is not JSON or YAML that can be read; `errors` says where."),
    Code.INVALID_EVENT: (400, "The event is not as it should be; `errors` lists all that is wrong."),
    Code.UNKNOWN_PARAMETER: (400, "A query parameter that this endpoint does not have."),
    Code.INVALID_PARAMETER: (400, "A parameter or header whose value cannot be used."),
    Code.INVALID_CURSOR: (400, "A cursor that no list has given."),
    Code.UNAUTHENTICATED: (401, "No credentials, or none that count."),
    Code.FORBIDDEN: (403, "The caller's roles do not allow this."),
    Code.NOT_LOOPBACK: (403, "Without an OpenID provider, only pages and programs of this machine may call."),
    Code.NOT_FOUND: (404, "It does not exist, or belongs to another institute."),
    Code.METHOD_NOT_ALLOWED: (405, "The path exists; the method does not. `Allow` lists those that do."),
    Code.BODY_TOO_SLOW: (408, "The body did not arrive in time."),
    Code.TAKEN: (409, "The key or id is in use."),
    Code.CONFLICT: (409, "Its present state does not allow this."),
    Code.STALE_VERSION: (412, "Somebody changed it since: read it again, then repeat with its `ETag`."),
    Code.BODY_TOO_LARGE: (413, "The body is over the limit."),
    Code.UNSUPPORTED_MEDIA_TYPE: (415, "A content type that this endpoint does not read."),
    Code.INVALID_BODY: (422, "A field is missing, unknown or of the wrong type; `errors` says which."),
    Code.INVALID_DEFINITION: (422, "The workflow has mistakes; `errors` lists all of them."),
    Code.EXPRESSION_ERROR: (422, "The expression does not parse, or fails on this context."),
    Code.RATE_LIMITED: (429, "Too many requests; `Retry-After` says when to come back."),
    Code.HEADERS_TOO_LARGE: (431, "The headers are over the limit; the connection ends."),
    Code.INTERNAL_ERROR: (500, "A fault of ours. The log has it under the request's id."),
    Code.NOT_CONFIGURED: (501, "This installation lacks what it takes; `detail` says what to set."),
    Code.UNAVAILABLE: (
        503,
        "The database cannot be reached, or not be written. Nothing was written; try again.",
    ),
    Code.OUTCOME_UNKNOWN: (
        503,
        "The database left during the commit, or this instance ended before it: look before you repeat.",
    ),
    Code.BUS_UNAVAILABLE: (
        503,
        "The bus did not confirm: messages may be there or not.",
    ),
    Code.TOO_MANY_STREAMS: (503, "No further stream of events is taken now; `Retry-After` says when."),
    Code.PROVIDER_UNAVAILABLE: (503, "The OpenID provider has never been reached: no token can be checked."),
}


class Refused(Exception):
    """A request that ends in a problem. Raised anywhere in the edge, rendered in one place."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        problems: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status if status is not None else MEANINGS[Code(code)][0]
        self.problems = problems
        self.headers = dict(headers or {})


def wrong(pointer: str, message: str, code: str = "INVALID_VALUE") -> Refused:
    """One field of a body that cannot be used."""
    return Refused(Code.INVALID_BODY, message, problems=[Problem(code, pointer, message)])


def clash(code: Code, pointer: str, message: str) -> Refused:
    """One field of a body that goes against what is there."""
    return Refused(code, message, problems=[Problem(code, pointer, message)])


def our_fault() -> Refused:
    """What a caller is told of a fault of ours: nothing but where to look."""
    return Refused(Code.INTERNAL_ERROR, "Something went wrong here. The log has it under this request's id.")


def cut_short(changes: bool) -> Refused:
    """What a caller is told whose request this instance could not finish before it ended."""
    if changes:
        return Refused(
            Code.OUTCOME_UNKNOWN, "This instance ended meanwhile. It may have been written: look first."
        )
    return Refused(
        Code.UNAVAILABLE, "This instance ended meanwhile. Ask again.", headers={"Retry-After": "1"}
    )


def rendered(refused: Refused, request_id: str) -> bytes:
    """The answer's body."""
    body: JsonObject = {
        "type": f"/docs#{refused.code}",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "code": refused.code,
        "detail": refused.detail,
        "requestId": request_id,
    }
    if refused.problems:
        body["errors"] = [problem_json(problem) for problem in refused.problems]
    return orjson.dumps(body)


def problem_json(problem: Problem) -> JsonObject:
    """One entry of `errors[]` or `warnings[]`; what is not known is left out."""
    found: JsonObject = {"pointer": problem.pointer, "code": problem.code, "message": problem.message}
    for name in ("suggestion", "line", "column"):
        if (value := getattr(problem, name)) is not None:
            found[name] = value
    return found
