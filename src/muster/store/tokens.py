"""API tokens. What is kept of a token is its hash: whoever reads the table cannot use what they find."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, or_, select, update
from sqlalchemy.exc import IntegrityError

from muster.definitions.ports import Taken
from muster.kit.clock import Clock
from muster.model.stored import ApiToken, AuditEntry, Page
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, violated_key
from muster.store.paging import read_page
from muster.store.tables import ID_LENGTH, NAME_LENGTH, api_token
from muster.store.types import is_storable


class TokenRepository:
    """`institute_id` None sees every token; text sees those of that tenant only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def create(self, token: ApiToken, token_hash: str, audit: AuditEntry) -> None:
        """Keep a token's public side and its hash. Raises `Taken` if the id or the hash is in use."""
        now = self._clock.now()

        def work(connection: Connection) -> None:
            insert_rows(connection, api_token, [_row(token, token_hash)])
            add_audit(connection, audit, now)

        try:
            await self._database.write(work)
        except IntegrityError as error:
            if violated_key(error, api_token) is not None:
                raise Taken(token.id) from None
            raise

    async def find(self, token_hash: str) -> ApiToken | None:
        """The token with that hash, be it revoked or expired."""
        if not is_storable(token_hash, NAME_LENGTH):
            return None
        wanted = select(api_token).where(api_token.c.token_hash == token_hash)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else _token(row)

    async def get(self, institute_id: str | None, token_id: str) -> ApiToken | None:
        """The token with that id, revoked and expired ones too."""
        if not is_storable(token_id, ID_LENGTH):
            return None
        wanted = select(api_token).where(api_token.c.id == token_id)
        if institute_id is not None:
            wanted = wanted.where(api_token.c.institute_id == institute_id)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else _token(row)

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[ApiToken], str | None]:
        """Newest first, revoked and expired ones too, and the cursor of the next page. Raises `BadCursor`."""
        wanted = select(api_token)
        if institute_id is not None:
            wanted = wanted.where(api_token.c.institute_id == institute_id)
        return await self._database.read(
            lambda connection: read_page(
                connection, "tokens", wanted, [api_token.c.id], page, _token, newest_first=True
            )
        )

    async def revoke(self, institute_id: str | None, token_id: str, audit: AuditEntry) -> bool:
        """End a token's life now. False: there is no such token, or it is revoked already."""
        now = self._clock.now()
        live = update(api_token).where(api_token.c.id == token_id, api_token.c.revoked_at.is_(None))
        if institute_id is not None:
            live = live.where(api_token.c.institute_id == institute_id)

        def work(connection: Connection) -> bool:
            if connection.execute(live.values(revoked_at=now)).rowcount == 0:
                return False
            add_audit(connection, audit, now)
            return True

        return is_storable(token_id, ID_LENGTH) and await self._database.write(work)

    async def touch(self, used: Mapping[str, datetime]) -> None:
        """Note when tokens were last used, by their ids; an earlier time changes nothing."""
        newer = or_(api_token.c.last_used_at.is_(None), api_token.c.last_used_at < bindparam("moment"))
        change = update(api_token).where(api_token.c.id == bindparam("token"), newer)
        # In one order, so that two who do this at once don't wait for each other.
        rows = [{"token": token, "moment": moment} for token, moment in sorted(used.items())]
        if rows:
            stated = change.values(last_used_at=bindparam("moment"))
            await self._database.write(lambda connection: connection.execute(stated, rows))


def _row(token: ApiToken, token_hash: str) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "token_hash": token_hash,
        "roles": list(token.roles),
        "institute_id": token.institute_id,
        "created_by": token.created_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }


def _token(row: Row[Any]) -> ApiToken:
    return ApiToken(
        id=row.id,
        name=row.name,
        roles=tuple(row.roles),
        institute_id=row.institute_id,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
