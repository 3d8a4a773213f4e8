"""A database that checks are run on, and rows for them that are nobody's."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import Connection, func, select

from muster.model.json import Json
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.tables import node_template, workflow, workflow_version
from muster.store.wake_ups import WakeUps

AT = datetime(2026, 3, 4, 12, 0, 0, 123456, UTC)
TEMPLATE_KEY = ("institute_id", "id")


@dataclass(frozen=True, slots=True)
class Store:
    """`opened` gives the same database as another process sees it, one that takes so many seconds without an
    answer for the server's end. `wake_ups`: a connection that hears others; None: there are no such."""

    database: Database
    opened: Callable[[float], Database]
    wake_ups: Callable[[], WakeUps] | None = None


def mark() -> str:
    """What the rows of one check are known by."""
    return uuid4().hex[:12]


def template(of: str, name: str, version: int = 1, config: Json = None) -> dict[str, object]:
    """A row of a small table with a key of two columns, JSON and a number."""
    return {
        "institute_id": of,
        "id": name,
        "name": name,
        "node_type": "QUERY",
        "config_json": {} if config is None else config,
        "version": version,
    }


def token(of: str, name: str, **more: object) -> dict[str, object]:
    """A row of a small table with a unique key beside its primary one, and times."""
    known = f"{of}-{name}"
    row: dict[str, object] = {"id": known, "name": of, "token_hash": known, "roles": [], "created_by": of}
    return row | {"created_at": AT} | more


def count(connection: Connection, of: str) -> int:
    """How many templates a check has written."""
    mine = select(func.count()).where(node_template.c.institute_id == of)
    return connection.execute(mine).scalar_one()


async def add_workflow(database: Database) -> tuple[str, int]:
    """A workflow that executions may be of, and its version."""

    def work(connection: Connection) -> tuple[str, int]:
        workflow_id = str(uuid4())
        kinds = {"kind": "orchestrated", "status": "DRAFT", "workflow_type": "MANUAL"}
        named = {"id": workflow_id, "key": workflow_id, "name": "conformance", **kinds}
        insert_rows(connection, workflow, [{**named, "created_at": AT, "updated_at": AT}])
        version = {"workflow_id": workflow_id, "version": 1, "definition": {}, "checksum": ""}
        insert_rows(connection, workflow_version, [{**version, "created_by": "", "created_at": AT}])
        mine = select(workflow_version.c.id).where(workflow_version.c.workflow_id == workflow_id)
        return workflow_id, connection.execute(mine).scalar_one()

    return await database.write(work)
