"""Making API tokens and ending them: one way for the HTTP API and the command line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muster.api.auth.tokens import hash_token, new_token
from muster.kit.ids import Ids
from muster.model.access import Role
from muster.model.problems import AuthorError, Problem
from muster.model.stored import ApiToken, AuditEntry, Page

LONGEST_NAME = 200


class Tokens(Protocol):
    """Where API tokens are kept; only their hashes are."""

    async def create(self, token: ApiToken, token_hash: str, audit: AuditEntry) -> None: ...

    async def get(self, institute_id: str | None, token_id: str) -> ApiToken | None: ...

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[ApiToken], str | None]: ...

    async def revoke(self, institute_id: str | None, token_id: str, audit: AuditEntry) -> bool:
        """False: there is no such token, or it is revoked already."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """The token that somebody asks for. `institute_id` None: it may see every tenant."""

    name: str
    roles: Sequence[str]
    institute_id: str | None
    expires_at: datetime | None


async def make_token(tokens: Tokens, wish: Wish, by: str, now: datetime, ids: Ids) -> tuple[ApiToken, str]:
    """A token's public side and the token itself, which nobody sees again. Raises `AuthorError`."""
    if problems := tuple(_mistakes(wish, now)):
        raise AuthorError(*problems)
    roles = tuple(dict.fromkeys(wish.roles))
    token = ApiToken(
        ids.new(), wish.name, roles, wish.institute_id, by, now, wish.expires_at, revoked_at=None
    )
    secret = new_token()
    await tokens.create(token, hash_token(secret), _audit(token, "create", by))
    return token, secret


async def revoke_token(tokens: Tokens, institute_id: str | None, token_id: str, by: str) -> bool:
    """End a token that is the institute's, or anybody's for None. False: there is none, or it has ended."""
    token = await tokens.get(institute_id, token_id)
    return token is not None and await tokens.revoke(institute_id, token_id, _audit(token, "revoke", by))


def _audit(token: ApiToken, action: str, by: str) -> AuditEntry:
    return AuditEntry("api_token", token.id, action, by, token.institute_id or "")


def _mistakes(wish: Wish, now: datetime) -> Iterator[Problem]:
    if not 1 <= len(wish.name) <= LONGEST_NAME:
        yield _mistake("/name", f"A name has 1 to {LONGEST_NAME} characters.")
    if not wish.roles:
        yield _mistake("/roles", "A token needs a role.")
    known = [role.value for role in Role]
    for place, name in enumerate(wish.roles):
        if name not in known:
            yield _mistake(
                f"/roles/{place}", f"There is no role {name[:100]!r}; there are {', '.join(known)}."
            )
    if wish.expires_at is not None and (wish.expires_at.tzinfo is None or wish.expires_at <= now):
        yield _mistake("/expiresAt", "A time with its offset, in the future, is expected.")


def _mistake(pointer: str, message: str) -> Problem:
    return Problem("INVALID_VALUE", pointer, message)
