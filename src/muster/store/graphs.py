"""A version's nodes and edges as rows, for whoever asks the tables instead of the document."""

from muster.model.json import Json, JsonObject
from muster.model.workflow import Definition, Edge, EdgeType, Node


def node_rows(version_id: int, definition: Definition) -> list[dict[str, object]]:
    return [_node(version_id, node) for node in definition.nodes]


def edge_rows(version_id: int, definition: Definition) -> list[dict[str, object]]:
    return [_edge(version_id, edge) for edge in definition.edges]


def _node(version_id: int, node: Node) -> dict[str, object]:
    return {
        "workflow_version_id": version_id,
        "node_key": node.id,
        "node_template_id": node.template_id,
        "node_order": node.order,
        "is_start_node": node.is_start,
        "is_end_node": node.is_end,
        "override_config": node.config if node.override_config is None else node.override_config,
    }


def _edge(version_id: int, edge: Edge) -> dict[str, object]:
    return {
        "workflow_version_id": version_id,
        "from_node_key": edge.source,
        "to_node_key": edge.target,
        "type": edge.type.value,
        "condition": edge_condition(edge),
        "max_latency_sec": edge.max_latency_sec,
        "absolute_deadline": edge.absolute_deadline,
        "severity": edge.severity,
    }


def edge_condition(edge: Edge) -> JsonObject | None:
    """When the edge is taken: `{"condition", "value"}`, `{"expression", "value"}` or, for what is left over,
    `{"expression", "default": true}`. None: always."""
    if edge.type is EdgeType.GOTO:
        return None if edge.condition is None else {"condition": edge.condition}
    asked: JsonObject = (
        {"condition": edge.condition}
        if edge.type is EdgeType.CONDITIONAL
        else {"expression": edge.expression}
    )
    answer: dict[str, Json] = {"default": True} if edge.is_default else {"value": edge.value}
    return asked | answer
