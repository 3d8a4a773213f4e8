"""Who may come in: the caller is recognised, counted and checked before anything of the request is read.

(But for who fires a trigger by its id, which is in the body: that is read as JSON, and no more, before.)
"""

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from muster.api.answers import refusal
from muster.api.auth import Authenticator, AuthError, require
from muster.api.parts import Parts, parts_of
from muster.api.problems import Code, Refused
from muster.definitions.library import NotFound
from muster.model.access import Caller, Role

# One request in vain counts for so many: a caller who is known has no use for many of them.
IN_VAIN = 50


class OwnMachineOnly:
    """Without an OpenID provider, `Host` and `Origin` must be loopback's, whatever is asked for."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app, self._authenticator = app, authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = scope["headers"]
            try:
                self._authenticator.check_address(_first(headers, b"host"), _first(headers, b"origin"))
            except AuthError as refused:
                return await refusal(as_refused(refused))(scope, receive, send)
        return await self._app(scope, receive, send)


def _first(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> str | None:
    for name, value in headers:
        if name == wanted:
            return value.decode("latin-1")
    return None


def as_refused(error: AuthError) -> Refused:
    headers = {"WWW-Authenticate": error.challenge} if error.challenge else None
    return Refused(error.code, error.message, status=error.status, headers=headers)


async def recognised(request: Request, role: Role) -> Caller:
    """The caller, if they may do what this role may, and have not asked too often."""
    parts = parts_of(request)
    caller = await parts.authenticator.authenticate(request.headers.get("authorization"))
    count(parts, f"{caller.how} {caller.institute_id} {caller.name}")
    require(caller, role)
    return caller


def count(parts: Parts, caller: str) -> None:
    """Raises `Refused` if they have asked too often."""
    _refuse_for(parts.rates.take(caller))


class CountedInVain:
    """Where nobody need be known, whoever asks in vain (for what is not there, or without a right signature
    or token) is counted by their address, and much. Raises `Refused` at once if they have done so too often:
    then nothing is looked up for them."""

    def __init__(self, request: Request, parts: Parts) -> None:
        self._address, self._rates = _address(request), parts.rates

    def __enter__(self) -> None:
        _refuse_for(self._rates.wait(self._address))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotFound) or (isinstance(error, AuthError) and error.status != 503):
            self._rates.charge(self._address, IN_VAIN)


def charge_in_vain(request: Request, parts: Parts) -> None:
    """Count somebody who asked for what is not there."""
    parts.rates.charge(_address(request), IN_VAIN)


def _address(request: Request) -> str:
    client = request.scope.get("client")
    return f"address {client[0] if client else ''}"


def _refuse_for(wait: float) -> None:
    if wait:
        raise Refused(
            Code.RATE_LIMITED,
            "Too many requests from this caller.",
            headers={"Retry-After": str(math.ceil(wait))},
        )


def _needs(role: Role) -> Callable[[Request], Awaitable[Caller]]:
    async def needed(request: Request) -> Caller:
        return await recognised(request, role)

    return needed


Viewer = Annotated[Caller, Depends(_needs(Role.VIEWER))]
Producer = Annotated[Caller, Depends(_needs(Role.PRODUCER))]
Operator = Annotated[Caller, Depends(_needs(Role.OPERATOR))]
Editor = Annotated[Caller, Depends(_needs(Role.EDITOR))]
Admin = Annotated[Caller, Depends(_needs(Role.ADMIN))]
