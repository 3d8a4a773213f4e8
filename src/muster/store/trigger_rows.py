"""Rows of triggers: what is written of their settings, and how they are read."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update
from sqlalchemy.exc import IntegrityError

from muster.definitions.ports import PathTaken
from muster.definitions.trigger_settings import trigger_id
from muster.model.trigger import Authentication, Trigger, TriggerSettings, TriggerStatus, TriggerType
from muster.store.dialect import insert_rows, update_rows, violated_key
from muster.store.tables import workflow_trigger

c = workflow_trigger.c


def of_institute(institute_id: str | None) -> list[ColumnElement[bool]]:
    """What narrows triggers to one tenant's; None: to nobody's."""
    return [] if institute_id is None else [c.institute_id == institute_id]


def settings_row(settings: TriggerSettings) -> dict[str, object]:
    return {
        "type": settings.type.value,
        "trigger_event_name": settings.event_name,
        "topic": settings.topic,
        "path": settings.path,
        "filter": settings.filter,
        "condition": settings.condition,
        "authentication": settings.authentication.value,
        "idempotency_generation_setting": settings.idempotency,
        "status": settings.status.value,
    }


def settings_in(row: Row[Any]) -> TriggerSettings:
    return TriggerSettings(
        type=TriggerType(row.type),
        event_name=row.trigger_event_name,
        topic=row.topic,
        path=row.path,
        filter=row.filter,
        condition=row.condition,
        authentication=Authentication(row.authentication),
        idempotency=row.idempotency_generation_setting,
        status=TriggerStatus(row.status),
    )


def trigger_in(row: Row[Any]) -> Trigger:
    return Trigger(
        id=row.id,
        workflow_id=row.workflow_id,
        institute_id=row.institute_id,
        settings=settings_in(row),
        node_id=row.node_key,
        secrets=tuple(datetime.fromisoformat(secret["createdAt"]) for secret in row.secrets),
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def replace_triggers(
    connection: Connection,
    workflow_id: str,
    institute_id: str,
    wanted: Mapping[str, TriggerSettings],
    now: datetime,
) -> None:
    """Let these, by their nodes, be the triggers that come from the definition; others of the workflow stay.
    One whose node was there before keeps its id and its secrets. Raises `PathTaken` for a path that another
    trigger has."""
    of_definition = [c.workflow_id == workflow_id, c.node_key.is_not(None)]
    present = {
        row.node_key: row
        for row in connection.execute(select(workflow_trigger).where(*of_definition).with_for_update())
    }
    if not wanted and not present:
        return
    connection.execute(delete(workflow_trigger).where(*of_definition, c.node_key.not_in(wanted)))
    # Nodes may have swapped their paths.
    connection.execute(update(workflow_trigger).where(*of_definition).values(path=None))
    _refuse_taken(connection, wanted.values())
    rows = {
        node: settings_row(settings) | {"id": trigger_id(workflow_id, node), "updated_at": now}
        for node, settings in wanted.items()
    }
    changed = [row | _kept(present[node], row) for node, row in rows.items() if node in present]
    added = [
        row
        | {
            "workflow_id": workflow_id,
            "node_key": node,
            "secrets": [],
            "version": 1,
            "institute_id": institute_id,
            "created_at": now,
        }
        for node, row in rows.items()
        if node not in present
    ]
    with taken_paths(wanted.values()):
        update_rows(connection, workflow_trigger, changed, ("id",))
        insert_rows(connection, workflow_trigger, added)


def free_paths(connection: Connection, workflow_id: str) -> None:
    """Let the paths that come from the definition be anybody's, until a version is activated again."""
    of_definition = [c.workflow_id == workflow_id, c.node_key.is_not(None)]
    connection.execute(update(workflow_trigger).where(*of_definition).values(path=None))


def _kept(present: Row[Any], row: Mapping[str, object]) -> dict[str, object]:
    """Secrets stay for as long as requests are signed with them."""
    secrets = present.secrets if row["authentication"] == Authentication.HMAC else []
    return {"version": present.version + 1, "secrets": secrets}


def _refuse_taken(connection: Connection, wanted: Iterable[TriggerSettings]) -> None:
    paths = sorted(settings.path for settings in wanted if settings.path is not None)
    if paths:
        taken = connection.execute(select(c.path).where(c.path.in_(paths)).limit(1)).scalar()
        if taken is not None:
            raise PathTaken(taken)


@contextmanager
def taken_paths(wanted: Iterable[TriggerSettings]) -> Iterator[None]:
    """Says of a path that is taken that it is: of the first that was wanted, if several were."""
    try:
        yield
    except IntegrityError as error:
        if violated_key(error, workflow_trigger) != ("path",):
            raise
        raise PathTaken(next(settings.path for settings in wanted if settings.path is not None)) from None
