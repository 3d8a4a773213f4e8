"""Diagrams in the formats that other programs draw: JSON, Mermaid, Graphviz's DOT and SVG."""

from enum import StrEnum
from typing import assert_never

from muster.definitions.diagram import NODE_HEIGHT, NODE_WIDTH, Diagram, DiagramEdge, DiagramNode, NodeState
from muster.definitions.svg import state_colour, to_svg
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind


class Format(StrEnum):
    JSON = "json"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_MERMAID_SHAPES = {
    NodeKind.START: ('(["', '"])'),
    NodeKind.PURE: ('["', '"]'),
    NodeKind.EFFECT: ('[["', '"]]'),
    NodeKind.WAIT: ('{{"', '"}}'),
    None: ('["', '"]'),
}
_DOT_SHAPES = {
    NodeKind.START: "oval",
    NodeKind.PURE: "box",
    NodeKind.EFFECT: "box3d",
    NodeKind.WAIT: "hexagon",
    None: "box",
}


def render(diagram: Diagram, format: Format) -> str | JsonObject:
    """The diagram in that format. What its names hold is only ever text: it cannot become markup."""
    match format:
        case Format.JSON:
            return to_json(diagram)
        case Format.MERMAID:
            return to_mermaid(diagram)
        case Format.DOT:
            return to_dot(diagram)
        case Format.SVG:
            return to_svg(diagram)
        case _:
            assert_never(format)


def to_json(diagram: Diagram) -> JsonObject:
    return {
        "name": diagram.name,
        "width": diagram.width,
        "height": diagram.height,
        "nodes": [_json_node(node) for node in diagram.nodes],
        "edges": [_json_edge(edge) for edge in diagram.edges],
    }


def _json_node(node: DiagramNode) -> JsonObject:
    drawn: JsonObject = {
        "id": node.id,
        "name": node.title,
        "type": node.type,
        "kind": node.kind.value if node.kind else None,
        "position": {"x": node.x, "y": node.y},
        "size": {"width": NODE_WIDTH, "height": NODE_HEIGHT},
        "isStartNode": node.is_start,
        "isEndNode": node.is_end,
        "steps": list(node.steps),
    }
    return drawn if node.state is None else {**drawn, "execution": _json_state(node.state)}


def _json_state(state: NodeState) -> JsonObject:
    return {
        "status": state.status,
        "visits": state.visits,
        "attempt": state.attempt,
        "seconds": state.seconds,
        "waitsUntil": state.due.isoformat() if state.due else None,
    }


def _json_edge(edge: DiagramEdge) -> JsonObject:
    return {
        "from": edge.source,
        "to": edge.target,
        "type": edge.type,
        "label": edge.label,
        "isBack": edge.is_back,
    }


def to_mermaid(diagram: Diagram) -> str:
    """A Mermaid flowchart. Nodes are numbered: an author's ids could be Mermaid's own words."""
    number = {node.id: f"n{index}" for index, node in enumerate(diagram.nodes)}
    lines = ["flowchart LR"]
    for node in diagram.nodes:
        before, after = _MERMAID_SHAPES[node.kind]
        words = f"<br/>{_mermaid(node.state.words)}" if node.state else ""
        shown = f"{_mermaid(node.title)}<br/>{_mermaid(node.type)}{words}"
        lines.append(f"  {number[node.id]}{before}{shown}{after}")
    for edge in diagram.edges:
        arrow = "-.->" if edge.type == "error" else "-->"
        label = f'|"{_mermaid(edge.label)}"|' if edge.label else ""
        lines.append(f"  {number[edge.source]} {arrow}{label} {number[edge.target]}")
    for node in diagram.nodes:
        if node.state:
            colour = state_colour(node.state.status)
            lines.append(f"  style {number[node.id]} stroke:{colour},stroke-width:3px")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Text as Mermaid's numeric character codes, except for what surely means only itself."""
    return "".join(
        each if each.isalnum() or each in " _-." else f"#{ord(each)};" for each in " ".join(text.split())
    )


def to_dot(diagram: Diagram) -> str:
    """A Graphviz graph. Ids and labels are quoted texts, in which only `\\` and `"` mean anything."""
    lines = [
        f"digraph {_dot(diagram.name)} {{",
        "  rankdir=LR;",
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    for node in diagram.nodes:
        label = _dot(node.title)[:-1] + "\\n" + _dot(node.type)[1:]
        colour = ""
        if node.state:
            label = label[:-1] + "\\n" + _dot(node.state.words)[1:]
            colour = f', color="{state_colour(node.state.status)}", penwidth=3'
        lines.append(f"  {_dot(node.id)} [label={label}, shape={_DOT_SHAPES[node.kind]}{colour}];")
    for edge in diagram.edges:
        style = ", style=dashed" if edge.type == "error" else ""
        lines.append(f"  {_dot(edge.source)} -> {_dot(edge.target)} [label={_dot(edge.label)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
