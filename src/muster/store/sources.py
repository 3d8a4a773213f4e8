"""Data sources: where queries and actions run. A password is taken out of the address and kept encrypted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from sqlalchemy import URL, Connection, Row, select

from muster.kit.clock import Clock
from muster.model.problems import AuthorError, Problem
from muster.model.registered import DataSource, SourceDraft
from muster.model.stored import AuditEntry, Page
from muster.nodes.data_ports import HostRefused, Hosts, HostUnknown
from muster.store.address import POSTGRESQL, SQLITE, BadAddress, parse_address
from muster.store.database import Database
from muster.store.reaching import hosts_of
from muster.store.registry import Kind, Registry, Values
from muster.store.secrets import needed, password_place, place
from muster.store.tables import data_source, secret
from muster.store.vault import Vault

# Others would let an address name files of this machine, or commands to run on connecting.
OPTIONS = {POSTGRESQL: frozenset({"ssl", "target_session_attrs", "host"})}


@dataclass(frozen=True, slots=True)
class Opening:
    """All it takes to connect. `mark` changes when any of it does."""

    address: URL
    pool_size: int
    mark: tuple[object, ...]
    hosts: Hosts | None = None


def _source(row: Row[Any]) -> DataSource:
    return DataSource(
        key=row.key,
        institute_id=row.institute_id,
        url=row.url,
        has_password=row.password is not None or row.password_secret is not None,
        password_secret=row.password_secret,
        pool_size=row.pool_size,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _no_secret(values: Values) -> Problem:
    message = f"There is no secret `{values['password_secret']}` in this institute."
    return Problem("UNKNOWN_SECRET", "/passwordSecret", message)


SOURCES = Kind(data_source, "key", _source, _no_secret)


class SourceRepository:
    """`folder` is where relative paths of SQLite begin; `own`, Muster's own file, is never a source. `hosts`
    says which servers may be reached; None: all of them."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        vault: Vault | None,
        folder: Path,
        own: Path | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self._database, self._clock, self._vault = database, clock, vault
        self._folder, self._own, self._hosts = folder, own, hosts
        self._registry = Registry(database, clock, SOURCES)

    async def create(self, draft: SourceDraft, audit: AuditEntry) -> DataSource:
        """Raises `Taken`, `NotConfigured` for a password without a key, `AuthorError`."""
        values = self._values(draft, None)
        await self._check_hosts(values)
        return await self._registry.create(values, audit)

    async def replace(self, draft: SourceDraft, expected: int | None, audit: AuditEntry) -> DataSource | None:
        """None: there is none. Raises `Stale`, `NotConfigured`, `AuthorError`."""
        row = await self._registry.row(draft.institute_id, draft.key)
        if row is None:
            return None
        # What was looked at must be what is changed: the password may only stay with the address it was for.
        expected = row.version if expected is None else expected
        values = self._values(draft, row)
        await self._check_hosts(values)
        return await self._registry.replace(values, expected, audit)

    async def delete(self, institute_id: str | None, key: str, audit: AuditEntry) -> bool:
        """Raises `InUse` while a query or an action runs there."""
        return await self._registry.delete(institute_id, key, audit)

    async def get(self, institute_id: str | None, key: str) -> DataSource | None:
        return await self._registry.get(institute_id, key)

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[DataSource], str | None]:
        return await self._registry.list(institute_id, page)

    async def opening(self, institute_id: str, key: str) -> Opening | None:
        """How to connect to it; None: there is no such source. Raises `Unreadable`, `NotConfigured`."""

        def work(connection: Connection) -> tuple[Row[Any], Row[Any] | None] | None:
            here = [data_source.c.institute_id == institute_id, data_source.c.key == key]
            row = connection.execute(select(data_source).where(*here)).first()
            if row is None or row.password_secret is None:
                return None if row is None else (row, None)
            named = [secret.c.institute_id == institute_id, secret.c.name == row.password_secret]
            return row, connection.execute(select(secret).where(*named)).one()

        found = await self._database.read(work)
        return None if found is None else self._opening(*found)

    def _opening(self, row: Row[Any], named: Row[Any] | None) -> Opening:
        password = None
        if named is not None:
            password = needed(self._vault).unseal(named.value, *place(named.institute_id, named.name))
        elif row.password is not None:
            own = password_place(row.institute_id, row.key)
            password = needed(self._vault).unseal(row.password, *own)
        address = parse_address(row.url, password=password)
        if address.drivername == SQLITE:
            address = address.set(database=str(self._file(address)))
        mark = (row.version, named.updated_at if named else None)
        return Opening(address, row.pool_size, mark, self._hosts)

    async def _check_hosts(self, values: Values) -> None:
        """Whether it may be connected to. A name without an address may have one later, and is looked at
        again whenever it is connected to."""
        if self._hosts is None:
            return
        for host in hosts_of(parse_address(str(values["url"]))):
            try:
                await self._hosts.addresses(host)
            except HostRefused as refused:
                raise _wrong("/url", f"This server cannot be used: {refused}.") from None
            except HostUnknown:
                continue

    def _values(self, draft: SourceDraft, present: Row[Any] | None) -> dict[str, object]:
        url, password = _without_password(draft.url)
        address = self._checked(url, draft.may_use_files)
        given = draft.password if draft.password is not None else password
        if draft.password_secret is not None and given:
            raise _wrong("/password", "A password and the name of one: give one of them.")
        now = self._clock.now()
        return {
            "institute_id": draft.institute_id,
            "key": draft.key,
            "url": url,
            "password": None if draft.password_secret else self._sealed(draft, given, address, present),
            "password_secret": draft.password_secret,
            "pool_size": draft.pool_size,
            "version": 1,
            "created_at": now,
            "updated_at": now,
        }

    def _sealed(
        self, draft: SourceDraft, given: str | None, address: URL, present: Row[Any] | None
    ) -> str | None:
        if given is None and present is not None and present.password is not None:
            if _place(address) != _place(parse_address(present.url)):
                raise _wrong("/password", "The address is another now: give the password for it.")
            kept: str = present.password
            return kept
        if not given:
            return None
        return needed(self._vault).seal(given, *password_place(draft.institute_id, draft.key))

    def _checked(self, url: str, may_use_files: bool) -> URL:
        try:
            address = parse_address(url)
        except BadAddress:
            raise _no_address() from None
        if address.drivername == SQLITE:
            if not may_use_files:
                raise _wrong("/url", "A file of this machine is not an institute's to choose.")
            self._file(address)
        known = OPTIONS.get(address.drivername, frozenset())
        # Several hosts become an option on the way; written as one, it would be another host than is shown.
        if "host" in dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)):
            raise _wrong("/url", "The address has the option `host`: the host stands behind `://`.")
        if unknown := sorted(set(address.query) - known):
            raise _wrong("/url", f"The address has the option `{unknown[0]}`, which cannot be set here.")
        return address

    def _file(self, address: URL) -> Path:
        """Where a SQLite source is. Raises `AuthorError` for what is not one."""
        name = address.database
        if not name or name.startswith(":") or "\0" in name:
            raise _wrong("/url", "The address names no file, as in sqlite:///shop.db.")
        path = (self._folder / name).resolve()
        if self._own is not None and path == self._own.resolve():
            raise _wrong("/url", "This is Muster's own database.")
        return path


def _place(address: URL) -> tuple[object, ...]:
    """Whom a password was meant for."""
    return (address.drivername, address.username, address.host, address.port, address.query.get("host"))


def _without_password(url: str) -> tuple[str, str | None]:
    """The address as it may be kept and shown, and the password that it held."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator or re.fullmatch(r"(jdbc:)?sqlite", scheme, re.IGNORECASE):
        return url.strip(), None
    try:
        password = parse_address(url).password
    except BadAddress:
        raise _no_address() from None
    parts = urlsplit(f"//{rest}")
    credentials, at, hosts = parts.netloc.rpartition("@")
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != "password"])
    shown = f"{scheme}://{credentials.partition(':')[0]}{at}{hosts}{parts.path}{'?' if query else ''}{query}"
    return shown, str(password) if password else None


def _no_address() -> AuthorError:
    """What was written is not repeated: where an address went wrong, a password may be anywhere in it."""
    expected = "sqlite:///file, postgresql://user@host/database or mariadb://user@host/database"
    return _wrong("/url", f"This is no database address, such as {expected}.")


def _wrong(pointer: str, message: str) -> AuthorError:
    return AuthorError(Problem("INVALID_VALUE", pointer, message))
