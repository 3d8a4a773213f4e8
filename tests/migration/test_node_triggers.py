"""Workflows that were activated before there were triggers have them afterwards."""

import json
from typing import Any

from sqlalchemy import Connection, select, text

from muster.definitions.trigger_settings import trigger_id
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.tables import workflow_trigger

BEFORE = "0015_schedules"


def trigger(node: str, **config: Any) -> dict[str, Any]:
    return {"id": node, "type": "TRIGGER", "config": config, "nodeOrder": 0}


def hook(node: str, path: str) -> dict[str, Any]:
    return trigger(node, triggerType="webhook", endpoint=path)


EVENT = trigger("e", triggerEventName="paid", filter={"kind": "card"})
BY_HAND = trigger("h", triggerType="manual")


def put(connection: Connection, number: int, status: str, document: Any) -> None:
    workflow = (
        "INSERT INTO workflow (id, {key}, name, kind, status, workflow_type, active_version_id, created_at, "
        "updated_at, institute_id) VALUES (:id, :id, :id, 'orchestrated', :status, 'MANUAL', :number, "
        "'2026-01-01 00\\:00\\:00', '2026-01-01 00\\:00\\:00', 'ACME')"
    ).format(key=connection.dialect.identifier_preparer.quote("key"))
    version = (
        "INSERT INTO workflow_version (id, workflow_id, version, definition, checksum, created_by, "
        "created_at) VALUES (:number, :id, 1, :document, 'c', 'me', '2026-01-01 00\\:00\\:00')"
    )
    facts = {"id": f"w{number}", "number": number, "status": status}
    connection.execute(text(workflow), facts)
    shown = {"id": f"w{number}", "number": number, "document": json.dumps(document)}
    connection.execute(text(version), shown)


async def test_nodes_of_active_versions_have_their_triggers(empty: Database) -> None:
    await migrate(empty, to=BEFORE)

    def work(connection: Connection) -> None:
        put(connection, 1, "ACTIVE", {"nodes": [hook("a", "/orders"), EVENT, BY_HAND]})
        put(connection, 2, "ACTIVE", {"nodes": [hook("a", "/orders"), hook("b", "/returns")]})
        put(connection, 3, "ARCHIVED", {"nodes": [hook("a", "/old")]})
        put(connection, 4, "ACTIVE", {"nodes": [{"no": "node"}]})

    await empty.write(work)
    await migrate(empty)
    wanted = select(workflow_trigger).order_by(workflow_trigger.c.workflow_id, workflow_trigger.c.node_key)
    rows = await empty.read(lambda connection: connection.execute(wanted).all())
    assert [(row.workflow_id, row.node_key, row.path) for row in rows] == [
        ("w1", "a", "orders"),
        ("w1", "e", None),
        ("w2", "b", "returns"),
    ], "a path is the first one's"
    first, event, _ = rows
    assert (first.id, first.institute_id, first.authentication) == (trigger_id("w1", "a"), "ACME", "JWT")
    assert (first.secrets, first.status, first.version) == ([], "ACTIVE", 1)
    assert (event.type, event.trigger_event_name, event.filter) == ("event", "paid", {"kind": "card"})
