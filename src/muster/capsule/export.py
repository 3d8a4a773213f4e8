"""Capsules of what a database keeps."""

from collections.abc import Iterable, Mapping
from typing import cast

from muster.capsule.document import Capsule, ExecutionCapsule, ItemCapsule, ItemEvent, Moment, Visit
from muster.definitions.document import nodes_of
from muster.engine.journal import JournalRow
from muster.model.json import JsonObject
from muster.model.node_type import NodeType
from muster.store.capsules import CapsuleRepository, KeptExecution, KeptItem


async def capsule_of(
    kept: CapsuleRepository, name: str, node_types: Mapping[str, NodeType]
) -> Capsule | None:
    """That of the execution with this id, or of the item with this correlation key; None: there is neither.
    Raises `TooMuch`."""
    execution = await kept.execution(name)
    if execution is not None:
        return _of_execution(execution, node_types)
    item = await kept.item(name)
    return None if item is None else _of_item(item, name)


def _of_execution(kept: KeptExecution, node_types: Mapping[str, NodeType]) -> ExecutionCapsule:
    row = kept.row
    error: JsonObject | None = None
    if row["error_type"] is not None:
        error = {"type": row["error_type"], "message": row["error_message"]}
    return ExecutionCapsule(
        exported_at=kept.at,
        workflow_id=row["workflow_id"],
        key=row["key"],
        version=row["version"],
        document=row["definition"],
        kinds=_kinds(row["definition"], node_types),
        id=row["id"],
        institute_id=row["institute_id"],
        status=row["status"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        given=row["given"],
        context=row["context"],
        output=row["output"],
        error=error,
        visits=tuple(map(_visit, kept.journal)),
        moments=tuple(
            Moment(each.at, each.kind, each.node, each.visit, each.name, each.data) for each in kept.reached
        ),
    )


def _kinds(document: JsonObject, node_types: Mapping[str, NodeType]) -> Mapping[str, str]:
    names = set[str]()
    for node in nodes_of(document):
        names.add(node.type.upper())
        if node.compensate is not None:
            names.add(str(node.compensate.get("type")).upper())
    return {name: node_types[name].kind.value for name in sorted(names) if name in node_types}


def _visit(row: JournalRow) -> Visit:
    return Visit(
        node=row.node,
        visit=row.visit,
        item=row.item_key,
        seq=row.seq,
        status=row.status.value,
        attempt=row.attempt,
        started_at=row.started_at,
        completed_at=row.completed_at,
        output=row.output,
        changes=row.changes,
        error=row.error,
    )


def _of_item(kept: KeptItem, correlation_key: str) -> ItemCapsule:
    return ItemCapsule(
        exported_at=kept.at,
        key=kept.key,
        version=kept.version,
        document=kept.document,
        correlation_key=correlation_key,
        institute_id=kept.institute_id,
        events=tuple(
            ItemEvent(
                source=row.source_system,
                event_id=row.source_event_id,
                event_type=row.event_type,
                event_time=row.event_time,
                received_at=row.received_at,
                workflow_keys=None if row.workflow_keys is None else tuple(row.workflow_keys),
                group=cast("JsonObject | None", row.event_group),
                payload=row.payload,
            )
            for row in kept.events
            if row.workflow_keys is None or kept.key in row.workflow_keys
        ),
        runs={row.run_no: row.status for row in kept.runs},
        misses=_counted(kept.misses),
        alerts={row.node_key: (row.reason, row.severity) for row in kept.alerts},
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
