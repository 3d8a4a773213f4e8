"""What both clients have in common: how they are addressed, and what the wire's outcomes mean."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

import httpx

from muster import __version__
from muster.client.requests import Request
from muster.client.retrying import Answer, Decision, Lost, NotSent, Outcome, Retries, Situation, decide

LOCAL = "http://127.0.0.1:8080"
TIMEOUT = 30.0
Token: TypeAlias = str | Callable[[], str] | None
# Raised before a request has left: the server knows nothing of it.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
TROUBLE = (*NOT_SENT, *LOST)


def headers_of(request: Request, token: Token) -> dict[str, str]:
    """Those of the request, and who asks: a token that is a function is asked each time."""
    known = {"Accept": "application/json", "User-Agent": f"muster-client/{__version__}", **request.headers}
    given = token() if callable(token) else token
    return {**known, "Authorization": f"Bearer {given}"} if given else known


def answered(response: httpx.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


def troubled(error: Exception) -> Outcome:
    """What a failure of the wire means for the request. Its words only: an address may have a password."""
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return NotSent(reason) if isinstance(error, NOT_SENT) else Lost(reason)


class Attempts:
    """The tries of one request: counts them, and asks what to do after each."""

    def __init__(self, retries: Retries, request: Request, began: float) -> None:
        self._retries = retries
        self._request = request
        self._began = began
        self._tried = 0

    def after(self, outcome: Outcome, at: float, chance: float) -> Decision:
        self._tried += 1
        situation = Situation(self._tried, at - self._began, datetime.now(UTC), chance)
        return decide(self._retries, self._request, outcome, situation)
