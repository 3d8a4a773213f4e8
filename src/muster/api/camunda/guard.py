"""Which workers may come in: as everywhere, or by HTTP's basic authentication, which Camunda's clients have
built in. The password is the token; the name is only a name."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from muster.api.auth import require
from muster.api.guard import count
from muster.api.parts import parts_of
from muster.model.access import Caller, Role


def as_bearer(authorization: str | None) -> str | None:
    """The header as it would be with the token alone."""
    scheme, _, given = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return authorization
    try:
        pair = b64decode(given.strip(), validate=True).decode()
    except (NotBase64, UnicodeDecodeError):
        return authorization
    return f"Bearer {pair.partition(':')[2]}"


def _needs(*roles: Role) -> Callable[[Request], Awaitable[Caller]]:
    """One of them is enough."""

    async def needed(request: Request) -> Caller:
        parts = parts_of(request)
        authorization = as_bearer(request.headers.get("authorization"))
        caller = await parts.authenticator.authenticate(authorization)
        count(parts, f"{caller.how} {caller.institute_id} {caller.name}")
        if not any(caller.may(role) for role in roles):
            require(caller, roles[0])
        return caller

    return needed


Worker = Annotated[Caller, Depends(_needs(Role.PRODUCER))]
WorkerOrOperator = Annotated[Caller, Depends(_needs(Role.PRODUCER, Role.OPERATOR))]
Reader = Annotated[Caller, Depends(_needs(Role.VIEWER, Role.PRODUCER))]
ByHand = Annotated[Caller, Depends(_needs(Role.OPERATOR))]
