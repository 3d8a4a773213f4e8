"""Node templates, by tenant."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, select, update
from sqlalchemy.exc import IntegrityError

from muster.definitions.ports import Stale, Taken
from muster.kit.clock import Clock
from muster.model.stored import AuditEntry, NodeTemplate, Page
from muster.store.audit import add_audit
from muster.store.database import Database
from muster.store.dialect import insert_rows, violated_key
from muster.store.paging import read_page
from muster.store.tables import NAME_LENGTH, node_template
from muster.store.types import is_storable

c = node_template.c


class TemplateRepository:
    """`definitions.ports.Templates` on a database.

    Across tenants (`institute_id` None) an id may be in use more than once: it is the first tenant's then.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def create(self, template: NodeTemplate, audit: AuditEntry) -> NodeTemplate:
        now = self._clock.now()

        def work(connection: Connection) -> None:
            insert_rows(connection, node_template, [_row(template)])
            add_audit(connection, audit, now)

        try:
            await self._database.write(work)
        except IntegrityError as error:
            if violated_key(error, node_template) is not None:
                raise Taken(template.id) from None
            raise
        return template

    async def replace(
        self, template: NodeTemplate, expected: int | None, audit: AuditEntry
    ) -> NodeTemplate | None:
        now = self._clock.now()
        here = [c.institute_id == template.institute_id, c.id == template.id]
        unchanged = [] if expected is None else [c.version == expected]

        def work(connection: Connection) -> NodeTemplate | None:
            content = _row(template) | {"version": c.version + 1}
            changed = connection.execute(update(node_template).where(*here, *unchanged).values(content))
            found = _first(connection, select(node_template).where(*here))
            if found is None:
                return None
            if changed.rowcount == 0:
                raise Stale(found.version)
            add_audit(connection, audit, now)
            return found

        return await self._database.write(work)

    async def delete(
        self, institute_id: str | None, template_id: str, expected: int | None, audit: AuditEntry
    ) -> bool:
        now = self._clock.now()

        def work(connection: Connection) -> bool:
            found = _first(connection, _lookup(institute_id, template_id).with_for_update())
            if found is None:
                return False
            if expected not in (None, found.version):
                raise Stale(found.version)
            connection.execute(
                delete(node_template).where(c.institute_id == found.institute_id, c.id == found.id)
            )
            add_audit(connection, audit, now)
            return True

        return is_storable(template_id, NAME_LENGTH) and await self._database.write(work)

    async def get(self, institute_id: str | None, template_id: str) -> NodeTemplate | None:
        if not is_storable(template_id, NAME_LENGTH):
            return None
        wanted = _lookup(institute_id, template_id)
        return await self._database.read(lambda connection: _first(connection, wanted))

    async def find(self, institute_id: str, template_ids: Sequence[str]) -> dict[str, NodeTemplate]:
        ids = {template_id for template_id in template_ids if is_storable(template_id, NAME_LENGTH)}
        if not ids:
            return {}
        wanted = select(node_template).where(c.institute_id == institute_id, c.id.in_(sorted(ids)))
        rows = await self._database.read(lambda connection: connection.execute(wanted).all())
        return {row.id: _template(row) for row in rows}

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[NodeTemplate], str | None]:
        wanted = select(node_template).where(*_of(institute_id))
        return await self._database.read(
            lambda connection: read_page(
                connection, "templates", wanted, [c.institute_id, c.id], page, _template
            )
        )


def _of(institute_id: str | None) -> list[ColumnElement[bool]]:
    return [] if institute_id is None else [c.institute_id == institute_id]


def _lookup(institute_id: str | None, template_id: str) -> Select[Any]:
    return (
        select(node_template).where(c.id == template_id, *_of(institute_id)).order_by(c.institute_id).limit(1)
    )


def _first(connection: Connection, statement: Select[Any]) -> NodeTemplate | None:
    row = connection.execute(statement).first()
    return None if row is None else _template(row)


def _row(template: NodeTemplate) -> dict[str, object]:
    return {
        "id": template.id,
        "name": template.name,
        "node_type": template.node_type,
        "config_json": template.config,
        "version": template.version,
        "institute_id": template.institute_id,
    }


def _template(row: Row[Any]) -> NodeTemplate:
    return NodeTemplate(row.id, row.name, row.node_type, row.config_json, row.version, row.institute_id)
