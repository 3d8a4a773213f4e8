"""API tokens: `mst_` and 256 random bits. Only the SHA-256 of one is ever stored."""

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from muster.api.auth.errors import not_recognised
from muster.kit.clock import Clock
from muster.model.access import Caller, How, roles_among
from muster.model.stored import ApiToken

PREFIX = "mst_"
_SHAPE = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")

FindToken: TypeAlias = Callable[[str], Awaitable[ApiToken | None]]


def new_token() -> str:
    """A token nobody has. It is shown once, to whoever asked for it."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored in its place. A fast hash is enough: there is nothing to guess in 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


class TokenVerifier:
    """Recognises API tokens. `find` looks one up by its hash, so that how long the search takes tells
    nothing about the token itself. `used` hears the id of each that was recognised."""

    def __init__(self, find: FindToken, clock: Clock, used: Callable[[str], None]) -> None:
        self._find = find
        self._clock = clock
        self._used = used

    async def verify(self, token: str) -> Caller:
        if not _SHAPE.fullmatch(token):
            raise not_recognised("an API token of the wrong shape")
        known = await self._find(hash_token(token))
        if known is None:
            raise not_recognised("an unknown API token")
        if known.revoked_at is not None:
            raise not_recognised(f"API token {known.id} is revoked")
        if known.expires_at is not None and known.expires_at <= self._clock.now():
            raise not_recognised(f"API token {known.id} has expired")
        self._used(known.id)
        return Caller(known.name, roles_among(known.roles), known.institute_id, How.TOKEN)
