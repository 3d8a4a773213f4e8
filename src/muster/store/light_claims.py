"""Claims that leave out what may be large: whoever has it in a cache need not read it."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, bindparam, case, null, select, type_coerce

from muster.engine.owned import OwnedExecution, StoredCheckpoint
from muster.model.aside import with_asides
from muster.model.json import JsonObject
from muster.store.claims import DUE, OWNED, take
from muster.store.tables import workflow_execution

E = workflow_execution.c
LARGE = ("context", "state", "aside")


def _light(column: ColumnElement[Any], name: str) -> ColumnElement[Any]:
    if name == "output":
        return type_coerce(null(), column.type).label(name)
    if name not in LARGE:
        return column
    # What has no checkpoint yet is in nobody's cache.
    return type_coerce(case((E.checkpoint_seq > 0, null()), else_=column), column.type).label(name)


DUE_LIGHTLY = DUE.giving([_light(column, str(column.name)) for column in OWNED])
CHECKPOINTS = select(E.id, E.context, E.state, E.aside).where(E.id.in_(bindparam("ids", expanding=True)))


def take_lightly(connection: Connection, owner: str, limit: int, lease: timedelta) -> list[OwnedExecution]:
    """Claim what is due, without the checkpoints."""
    taken = take(connection, DUE_LIGHTLY, owner, limit, lease)
    return [replace(owned, is_light=owned.checkpoint_seq > 0) for owned in taken]


def read_checkpoints(connection: Connection, ids: Collection[str]) -> dict[str, StoredCheckpoint]:
    found: dict[str, StoredCheckpoint] = {}
    for row in connection.execute(CHECKPOINTS, {"ids": list(ids)}):
        columns = with_asides({"context": row.context, "state": row.state or {}}, row.aside)
        context, state = cast("JsonObject", columns["context"]), cast("JsonObject", columns["state"])
        found[row.id] = StoredCheckpoint(context, state, bool(row.aside))
    return found
