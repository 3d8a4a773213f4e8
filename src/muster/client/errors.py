"""What can go wrong with a call, as errors that say what the server said."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class MusterError(Exception):
    """Whatever the client raises about a call."""


class Unreachable(MusterError):
    """No answer came. `in_doubt`: the request may have reached the server and been carried out."""

    def __init__(self, message: str, in_doubt: bool) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class NotEnded(MusterError):
    """An execution has not ended in the time that somebody would wait for it."""

    def __init__(self, execution_id: str, status: str) -> None:
        super().__init__(f"The execution {execution_id} has not ended in time: it is {status}.")
        self.execution_id = execution_id
        self.status = status


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with what was sent: where (a JSON pointer), what, and where known how to mend it."""

    pointer: str
    code: str
    message: str
    suggestion: str | None = None


class Refused(MusterError):
    """The server's answer is a problem (RFC 9457). Branch on `code`: it never changes."""

    def __init__(
        self, status: int, code: str, detail: str, mistakes: tuple[Mistake, ...] = (), request_id: str = ""
    ) -> None:
        super().__init__(_sentence(status, code, detail, mistakes, request_id))
        self.status = status
        self.code = code
        self.detail = detail
        self.mistakes = mistakes
        self.request_id = request_id


class Invalid(Refused):
    """What was sent cannot be used; `mistakes` says where (400, 413, 415, 422)."""


class Unauthenticated(Refused):
    """No token, or none that counts (401)."""


class Forbidden(Refused):
    """The token's roles do not allow it (403)."""


class NotFound(Refused):
    """It does not exist, or is another institute's (404)."""


class Conflict(Refused):
    """Its present state does not allow it (409)."""


class StaleVersion(Refused):
    """Somebody changed it since (412)."""


class RateLimited(Refused):
    """Too many requests, also after waiting as the server asked (429)."""


class Unavailable(Refused):
    """The server cannot do it now (5xx). Nothing was written, unless `code` is `OUTCOME_UNKNOWN`."""


_BY_STATUS: Mapping[int, type[Refused]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: StaleVersion,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: RateLimited,
}


def refusal(status: int, content: bytes) -> Refused:
    """The error that an answer is, whoever gave it: a proxy's page is one without a code."""
    problem = problem_of(content)
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else Refused)
    found = problem.get("errors")
    return kind(
        status,
        code_of(problem),
        str(problem.get("detail") or f"The server answers {status}, without saying why."),
        tuple(_mistake(each) for each in found if isinstance(each, dict)) if isinstance(found, list) else (),
        str(problem.get("requestId") or ""),
    )


def problem_of(content: bytes) -> dict[str, Any]:
    """The problem that an answer holds; empty if it holds none."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def code_of(problem: Mapping[str, Any]) -> str:
    """What to branch on. In Camunda's protocol `code` is a number of theirs, and ours is the `reason`."""
    return str(problem.get("reason") or problem.get("code") or "")


def _mistake(entry: Mapping[str, Any]) -> Mistake:
    suggestion = entry.get("suggestion")
    return Mistake(
        str(entry.get("pointer", "")),
        str(entry.get("code", "")),
        str(entry.get("message", "")),
        None if suggestion is None else str(suggestion),
    )


def _sentence(status: int, code: str, detail: str, mistakes: tuple[Mistake, ...], request_id: str) -> str:
    head = f"{status} {code}: {detail}" if code else f"{status}: {detail}"
    tail = f" (request {request_id})" if request_id else ""
    lines = [f"\n  at {each.pointer or '/'}: {each.message}" for each in mistakes]
    return "".join([head, tail, *lines])
