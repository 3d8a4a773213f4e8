"""What is registered under a key, by institute: written with its audit entry, found by its key, listed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, select, update
from sqlalchemy.exc import IntegrityError

from muster.definitions.ports import Stale, Taken
from muster.kit.clock import Clock
from muster.model.problems import AuthorError, Problem
from muster.model.stored import AuditEntry, Page
from muster.nodes.data_ports import InUse
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, violated_key
from muster.store.paging import read_page
from muster.store.tables import NAME_LENGTH
from muster.store.types import is_storable

T = TypeVar("T")
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind of entry: its table, the column of its key, how a row is read, and what is wrong if it names
    something that is not there."""

    table: Table
    key: str
    make: Callable[[Row[Any]], T]
    missing: Callable[[Values], Problem]


class Registry(Generic[T]):
    """Entries of one kind. Across institutes (`institute_id` None) a key means the first institute's, in the
    order of their names."""

    def __init__(self, database: Database, clock: Clock, kind: Kind[T]) -> None:
        self._database, self._clock, self._kind = database, clock, kind
        self._table, self._key = kind.table, kind.table.c[kind.key]
        self._institute: ColumnElement[str] = kind.table.c.institute_id

    async def create(self, values: Values, audit: AuditEntry) -> T:
        """Raises `Taken`, and `AuthorError` if it names what is not there."""
        now = self._clock.now()

        def work(connection: Connection) -> T:
            insert_rows(connection, self._table, [values])
            add_audit(connection, audit, now)
            return self._one(connection, str(values["institute_id"]), str(values[self._kind.key]))

        try:
            return await self._database.write(work)
        except IntegrityError as error:
            if violated_key(error, self._table) is not None:
                raise Taken(str(values[self._kind.key])) from None
            raise AuthorError(self._kind.missing(values)) from None

    async def replace(self, values: Values, expected: int | None, audit: AuditEntry) -> T | None:
        """Write all but the time of its making anew, with version + 1. None: there is none. Raises `Stale`,
        and `AuthorError` if it names what is not there."""
        now, institute, key = self._clock.now(), str(values["institute_id"]), str(values[self._kind.key])
        here = [self._institute == institute, self._key == key]
        version = self._table.c.version
        unchanged = [] if expected is None else [version == expected]
        content = {name: value for name, value in values.items() if name != "created_at"}

        def work(connection: Connection) -> T | None:
            changed = connection.execute(
                update(self._table).where(*here, *unchanged).values({**content, "version": version + 1})
            )
            if changed.rowcount == 0:
                present = connection.execute(select(version).where(*here)).scalar()
                if present is None:
                    return None
                raise Stale(present)
            add_audit(connection, audit, now)
            return self._one(connection, institute, key)

        try:
            return await self._database.write(work)
        except IntegrityError:
            raise AuthorError(self._kind.missing(values)) from None

    async def delete(self, institute_id: str | None, key: str, audit: AuditEntry) -> bool:
        """False: there is none. Raises `InUse`."""
        now = self._clock.now()

        def work(connection: Connection) -> bool:
            found = connection.execute(self._lookup(institute_id, key).with_for_update()).first()
            if found is None:
                return False
            connection.execute(
                delete(self._table).where(self._institute == found.institute_id, self._key == key)
            )
            add_audit(connection, replace(audit, institute_id=found.institute_id), now)
            return True

        try:
            return is_storable(key, NAME_LENGTH) and await self._database.write(work)
        except IntegrityError:
            raise InUse(key) from None

    async def get(self, institute_id: str | None, key: str) -> T | None:
        row = await self.row(institute_id, key)
        return None if row is None else self._kind.make(row)

    async def row(self, institute_id: str | None, key: str) -> Row[Any] | None:
        if not is_storable(key, NAME_LENGTH):
            return None
        wanted = self._lookup(institute_id, key)
        return await self._database.read(lambda connection: connection.execute(wanted).first())

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[T], str | None]:
        """By institute and key, and the cursor of the next page. Raises `BadCursor`."""
        wanted = select(self._table).where(*self._of(institute_id))
        order = [self._institute, self._key]
        return await self._database.read(
            lambda connection: read_page(connection, self._table.name, wanted, order, page, self._kind.make)
        )

    def _of(self, institute_id: str | None) -> Sequence[ColumnElement[bool]]:
        return [] if institute_id is None else [self._institute == institute_id]

    def _lookup(self, institute_id: str | None, key: str) -> Select[Any]:
        found = select(self._table).where(self._key == key, *self._of(institute_id))
        return found.order_by(self._institute).limit(1)

    def _one(self, connection: Connection, institute_id: str, key: str) -> T:
        return self._kind.make(connection.execute(self._lookup(institute_id, key)).one())
