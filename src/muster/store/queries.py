"""Queries and actions, as administrators register them and as workflows call them."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from muster.definitions.ports import Taken
from muster.kit.clock import Clock
from muster.model.problems import Problem
from muster.model.registered import ActionDefinition, PrebuiltQuery, RegisteredNames
from muster.model.stored import AuditEntry, Page
from muster.store.database import Database
from muster.store.registry import Kind, Registry, Values
from muster.store.tables import NAME_LENGTH, action_definition, prebuilt_query
from muster.store.types import is_storable

SHARED = ""


def _no_source(values: Values) -> Problem:
    message = f"There is no data source `{values['data_source']}` in this institute."
    return Problem("UNKNOWN_DATA_SOURCE", "/dataSource", message)


def _query(row: Row[Any]) -> PrebuiltQuery:
    return PrebuiltQuery(**row._mapping)


def _action(row: Row[Any]) -> ActionDefinition:
    return ActionDefinition(**{**row._mapping, "sql": tuple(row.sql)})


class QueryRepository:
    """`reserved` are keys that plug-ins have: nobody would ever reach what is registered under them."""

    def __init__(self, database: Database, clock: Clock, reserved: Container[str] = frozenset()) -> None:
        self._registry = Registry(database, clock, Kind(prebuilt_query, "key", _query, _no_source))
        self._reserved = reserved

    async def create(self, query: PrebuiltQuery, audit: AuditEntry) -> PrebuiltQuery:
        """Raises `Taken`, and `AuthorError` if there is no such data source."""
        if query.key in self._reserved:
            raise Taken(query.key)
        return await self._registry.create(asdict(query), audit)

    async def replace(
        self, query: PrebuiltQuery, expected: int | None, audit: AuditEntry
    ) -> PrebuiltQuery | None:
        """None: there is none. Raises `Stale`, `AuthorError`."""
        return await self._registry.replace(asdict(query), expected, audit)

    async def delete(self, institute_id: str | None, key: str, audit: AuditEntry) -> bool:
        return await self._registry.delete(institute_id, key, audit)

    async def get(self, institute_id: str | None, key: str) -> PrebuiltQuery | None:
        return await self._registry.get(institute_id, key)

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[PrebuiltQuery], str | None]:
        return await self._registry.list(institute_id, page)


class ActionRepository:
    """`reserved` are keys that plug-ins have."""

    def __init__(self, database: Database, clock: Clock, reserved: Container[str] = frozenset()) -> None:
        self._registry = Registry(database, clock, Kind(action_definition, "key", _action, _no_source))
        self._reserved = reserved

    async def create(self, action: ActionDefinition, audit: AuditEntry) -> ActionDefinition:
        """Raises `Taken`, and `AuthorError` if there is no such data source."""
        if action.key in self._reserved:
            raise Taken(action.key)
        return await self._registry.create(_action_row(action), audit)

    async def replace(
        self, action: ActionDefinition, expected: int | None, audit: AuditEntry
    ) -> ActionDefinition | None:
        """None: there is none. Raises `Stale`, `AuthorError`."""
        return await self._registry.replace(_action_row(action), expected, audit)

    async def delete(self, institute_id: str | None, key: str, audit: AuditEntry) -> bool:
        return await self._registry.delete(institute_id, key, audit)

    async def get(self, institute_id: str | None, key: str) -> ActionDefinition | None:
        return await self._registry.get(institute_id, key)

    async def list(
        self, institute_id: str | None, page: Page
    ) -> tuple[Sequence[ActionDefinition], str | None]:
        return await self._registry.list(institute_id, page)


def _action_row(action: ActionDefinition) -> dict[str, object]:
    return {**asdict(action), "sql": list(action.sql)}


class RegisteredRepository:
    """`nodes.data_ports.Registered` on a database: an institute's own comes before what is shared by all, and
    `given`, what comes with plug-ins, before both."""

    def __init__(self, database: Database, given: Mapping[str, PrebuiltQuery] | None = None) -> None:
        self._database, self._given = database, given or {}

    async def query(self, institute_id: str, key: str) -> PrebuiltQuery | None:
        if key in self._given:
            return self._given[key]
        row = await self._first(prebuilt_query, institute_id, key)
        return None if row is None else _query(row)

    async def action(self, institute_id: str, key: str) -> ActionDefinition | None:
        row = await self._first(action_definition, institute_id, key)
        return None if row is None else _action(row)

    async def names(self, institute_id: str) -> RegisteredNames:
        """What an institute's workflows may name."""
        return await self._database.read(lambda connection: _names(connection, institute_id))

    async def _first(self, table: Table, institute_id: str, key: str) -> Row[Any] | None:
        if not is_storable(key, NAME_LENGTH):
            return None
        wanted = select(table).where(table.c.key == key, table.c.institute_id.in_([institute_id, SHARED]))
        # '' is before every other name.
        last = wanted.order_by(table.c.institute_id.desc()).limit(1)
        return await self._database.read(lambda connection: connection.execute(last).first())


def _names(connection: Connection, institute_id: str) -> RegisteredNames:
    own = [institute_id, SHARED]
    q, a = prebuilt_query.c, action_definition.c
    queries = select(q.key, q.result_key).where(q.institute_id.in_(own)).order_by(q.institute_id)
    actions = select(a.key).where(a.institute_id.in_(own))
    return RegisteredNames(
        {row.key: row.result_key for row in connection.execute(queries)},
        frozenset(connection.execute(actions).scalars()),
    )
