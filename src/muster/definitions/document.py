"""The canonical document of a definition, and back: what is stored, and what the API answers."""

import hashlib
import json
from collections.abc import Iterable
from typing import cast

from muster.definitions.schedules import schedule_block, schedule_of
from muster.model.json import Json, JsonObject
from muster.model.workflow import (
    Definition,
    Edge,
    EdgeType,
    Join,
    Node,
    Schedule,
    WorkflowStatus,
    WorkflowType,
)


def checksum(document: JsonObject) -> str:
    """SHA-256 of the document, however its keys are ordered."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def to_document(definition: Definition) -> JsonObject:
    """The definition in the full shape, every edge on its own. Reading it gives the same definition again."""
    document: dict[str, Json] = {
        "workflow": _without_nothing(
            {
                "key": definition.key,
                "name": definition.name,
                "description": definition.description,
                "status": definition.status.value,
                "workflowType": definition.workflow_type.value,
                "instituteId": definition.institute_id or None,
                "createdByUserId": definition.created_by_user_id,
                "output": definition.output,
                "durability": definition.durability,
                "concurrency": definition.concurrency,
                "search": list(definition.search) or None,
                "vars": definition.vars or None,
                "watch": definition.watch or None,
            }
        ),
    }
    if definition.schedules:
        document["schedule"] = [schedule_block(schedule) for schedule in definition.schedules]
    document["nodes"] = [_node_entry(node) for node in definition.nodes]
    document["routing"] = [_route_entry(edge) for edge in definition.edges]
    return document


def _without_nothing(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _node_entry(node: Node) -> JsonObject:
    return _without_nothing(
        {
            "id": node.id,
            "type": node.type,
            "name": node.name,
            "notes": node.notes,
            "nodeOrder": node.order,
            "isStartNode": node.is_start or None,
            "isEndNode": node.is_end or None,
            "nodeTemplateId": node.template_id,
            "overrideConfig": node.override_config,
            "config": node.config,
            "retry": node.retry,
            "timeout": node.timeout,
            "onError": node.on_error,
            "compensate": node.compensate,
            "join": None if node.join is Join.ALL else node.join.value,
            "maxVisits": node.max_visits,
            "inDoubt": node.in_doubt,
            "dedupe": node.dedupe,
            "itemKey": node.item_key,
        }
    )


def _route_entry(edge: Edge) -> JsonObject:
    entry: dict[str, Json] = {
        "fromNodeId": edge.source,
        "toNodeId": edge.target,
        "type": edge.type.value,
        "condition": edge.condition,
        "expression": edge.expression,
        "default": edge.is_default or None,
        "maxLatencySec": edge.max_latency_sec,
        "absoluteDeadline": edge.absolute_deadline,
        "severity": edge.severity,
    }
    entry = _without_nothing(entry)
    if edge.type is not EdgeType.GOTO and not edge.is_default:
        entry["value"] = edge.value
    return entry


def from_document(document: JsonObject) -> Definition:
    """The definition of a canonical document, as `to_document` made it: nothing is checked again."""
    head = cast("JsonObject", document["workflow"])
    return Definition(
        name=_text(head, "name"),
        nodes=nodes_of(document),
        edges=tuple(_edge(entry) for entry in _objects(document["routing"])),
        key=_text(head, "key"),
        description=_text(head, "description"),
        status=WorkflowStatus(cast("str", head["status"])),
        workflow_type=WorkflowType(cast("str", head["workflowType"])),
        institute_id=_text(head, "instituteId") or "",
        created_by_user_id=_text(head, "createdByUserId"),
        schedules=schedules_of(document),
        output=head.get("output"),
        durability=cast("str", head["durability"]),
        concurrency=_object(head, "concurrency"),
        search=tuple(cast("list[str]", head.get("search", []))),
        vars=_object(head, "vars") or {},
        watch=head.get("watch") is True,
    )


def nodes_of(document: JsonObject) -> tuple[Node, ...]:
    """The nodes of a canonical document."""
    return tuple(_node(entry) for entry in _objects(document.get("nodes", [])))


def schedules_of(document: JsonObject) -> tuple[Schedule, ...]:
    """The schedules of a canonical document."""
    return tuple(schedule_of(block) for block in _objects(document.get("schedule", [])))


def _node(entry: JsonObject) -> Node:
    return Node(
        id=cast("str", entry["id"]),
        type=cast("str", entry["type"]),
        config=cast("JsonObject", entry["config"]),
        name=_text(entry, "name"),
        order=cast("int", entry["nodeOrder"]),
        is_start=entry.get("isStartNode") is True,
        is_end=entry.get("isEndNode") is True,
        template_id=_text(entry, "nodeTemplateId"),
        override_config=_object(entry, "overrideConfig"),
        retry=_object(entry, "retry"),
        timeout=entry.get("timeout"),
        on_error=entry.get("onError"),
        compensate=_object(entry, "compensate"),
        join=Join(cast("str", entry.get("join", Join.ALL))),
        max_visits=cast("int | None", entry.get("maxVisits")),
        in_doubt=_text(entry, "inDoubt"),
        dedupe=_object(entry, "dedupe"),
        item_key=_text(entry, "itemKey"),
        notes=_text(entry, "notes"),
    )


def _edge(entry: JsonObject) -> Edge:
    return Edge(
        source=cast("str", entry["fromNodeId"]),
        target=cast("str", entry["toNodeId"]),
        type=EdgeType(cast("str", entry["type"])),
        condition=_text(entry, "condition"),
        expression=_text(entry, "expression"),
        value=entry.get("value"),
        is_default=entry.get("default") is True,
        max_latency_sec=cast("int | None", entry.get("maxLatencySec")),
        absolute_deadline=_text(entry, "absoluteDeadline"),
        severity=_text(entry, "severity"),
    )


def _objects(value: Json) -> Iterable[JsonObject]:
    return cast("list[JsonObject]", value)


def _text(fields: JsonObject, name: str) -> str | None:
    return cast("str | None", fields.get(name))


def _object(fields: JsonObject, name: str) -> JsonObject | None:
    return cast("JsonObject | None", fields.get(name))
