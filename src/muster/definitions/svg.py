"""Diagrams as SVG: one file that looks the same anywhere, readable on light and on dark ground."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain, count

from muster.definitions.diagram import (
    NODE_HEIGHT,
    NODE_WIDTH,
    ROW,
    Diagram,
    DiagramEdge,
    DiagramNode,
)
from muster.model.node_type import NodeKind

# Fills are their own ground, so that text on them is readable whatever lies behind the picture; lines and
# labels outside of boxes are of a grey that shows on white and on black.
_COLOURS = {
    NodeKind.START: ("#e3f4e8", "#2f8f4e"),
    NodeKind.PURE: ("#eef0f3", "#6b7683"),
    NodeKind.EFFECT: ("#e4edfb", "#3569c4"),
    NodeKind.WAIT: ("#fdf0dc", "#c27a12"),
    None: ("#f7e4e4", "#b03a3a"),
}
# How nodes fare, on the same two grounds. What is not named here waits.
_STATES = {
    "completed": "#2f8f4e",
    "compensated": "#6b7683",
    "skipped": "#6b7683",
    "failed": "#c02f2f",
    "running": "#3569c4",
    "compensating": "#3569c4",
}
_WAITS = "#c27a12"
_LINE, _ERROR = "#7d8590", "#c94f4f"
_TITLE_LENGTH, _TYPE_LENGTH, _LABEL_LENGTH, _STATE_LENGTH = 20, 26, 14, 36
_BEND = 48
_LABEL_HEIGHT = 14
# Where labels stand beside an edge: above it first, then below; as many as fit before the next row's.
_BESIDE = (-4, -18, -32, -46, 10, 24, 38, 52)
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_ARROW = (
    '<marker id="arrow{0}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{1}"/></marker>'
)


def to_svg(diagram: Diagram) -> str:
    places = {node.id: node for node in diagram.nodes}
    labels = _label_places(diagram.edges, places)
    height = max([diagram.height, *(y + _LABEL_HEIGHT for _, y in labels.values())])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {diagram.width} {height}" '
        f'width="{diagram.width}" height="{height}" font-family="{_FONT}" role="img">',
        f"<title>{_text(diagram.name)}</title>",
        f"<defs>{_ARROW.format('', _LINE)}{_ARROW.format('Error', _ERROR)}</defs>",
    ]
    parts += [_edge(edge, places[edge.source], places[edge.target]) for edge in diagram.edges]
    parts += [_node(node) for node in diagram.nodes]
    parts += [_label(edge, *labels[index]) for index, edge in enumerate(diagram.edges) if edge.label]
    return "\n".join([*filter(None, parts), "</svg>"]) + "\n"


def _text(text: str, longest: int | None = None) -> str:
    """Text that stays text: escaped, without characters that XML forbids, cut to what there is room for."""
    plain = "".join(each for each in " ".join(text.split()) if each.isprintable())
    if longest is not None and len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return escape(plain, quote=True)


def _node(node: DiagramNode) -> str:
    fill, line = _COLOURS[node.kind]
    radius = NODE_HEIGHT // 2 if node.kind is NodeKind.START else 8
    dashes = ' stroke-dasharray="5 3"' if node.kind is NodeKind.WAIT else ""
    weight = 3 if node.is_end else 1.5
    steps = escape("\n".join(node.steps), quote=True)
    return (
        f'<g transform="translate({node.x} {node.y})"><title>{_printable(steps)}</title>'
        f'<rect width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="{radius}" fill="{fill}" stroke="{line}" '
        f'stroke-width="{weight}"{dashes}/>{_mark(node, line)}'
        f'<text x="40" y="28" font-size="13" font-weight="600" fill="#1c2128">'
        f"{_text(node.title, _TITLE_LENGTH)}</text>"
        f'<text x="40" y="47" font-size="11" fill="#57606a">{_text(node.type_title, _TYPE_LENGTH)}</text>'
        f"{_state(node)}</g>"
    )


def state_colour(status: str) -> str:
    return _STATES.get(status, _WAITS)


def _state(node: DiagramNode) -> str:
    """How the node fares: in words, and by a line below the box."""
    if node.state is None:
        return ""
    colour, y = state_colour(node.state.status), NODE_HEIGHT
    return (
        f'<path d="M8 {y} H{NODE_WIDTH - 8}" stroke="{colour}" stroke-width="4" stroke-linecap="round"/>'
        f'<text x="{NODE_WIDTH // 2}" y="{y + 17}" font-size="11" text-anchor="middle" fill="{colour}">'
        f"{_text(node.state.words, _STATE_LENGTH)}</text>"
    )


def _printable(text: str) -> str:
    return "".join(each for each in text if each.isprintable() or each == "\n")


def _mark(node: DiagramNode, colour: str) -> str:
    """A small sign of the kind, so that colour is not the only one."""
    paths = {
        NodeKind.START: "M-5 -7 L7 0 L-5 7 z",
        NodeKind.PURE: "M-6 -6 h12 v12 h-12 z",
        NodeKind.EFFECT: "M1 -8 L-6 2 h5 L-1 8 L6 -2 h-5 z",
        NodeKind.WAIT: "M-6 -8 h12 L0 0 L6 8 h-12 L0 0 z",
        None: "M-6 -6 L6 6 M6 -6 L-6 6",
    }
    outline = f' stroke="{colour}" stroke-width="2"' if node.kind is None else ""
    place = f"translate(22 {NODE_HEIGHT // 2})"
    return f'<path transform="{place}" d="{paths[node.kind]}" fill="{colour}"{outline}/>'


def _edge(edge: DiagramEdge, source: DiagramNode, target: DiagramNode) -> str:
    colour, arrow = (_ERROR, "arrowError") if edge.type == "error" else (_LINE, "arrow")
    dashes = ' stroke-dasharray="6 4"' if edge.type == "error" else ""
    path = _back(source, target) if edge.is_back else _ahead(source, target)
    line = f'fill="none" stroke="{colour}" stroke-width="1.5"{dashes}'
    return f'<path d="{path}" {line} marker-end="url(#{arrow})"/>'


def _ahead(source: DiagramNode, target: DiagramNode) -> str:
    """From the right side to the left side: first to the target's row, then along it, past what lies between.

    The last stretch is straight, and has room for a label.
    """
    x1, y1 = source.x + NODE_WIDTH, source.y + NODE_HEIGHT // 2
    x2, y2 = target.x, target.y + NODE_HEIGHT // 2
    bent = x1 + _BEND
    return f"M{x1} {y1} C{x1 + _BEND} {y1} {x1} {y2} {bent} {y2} L{x2} {y2}"


def _back(source: DiagramNode, target: DiagramNode) -> str:
    """From below the one to below the other, under the lower of both."""
    x1, x2 = source.x + NODE_WIDTH // 2 + 20, target.x + NODE_WIDTH // 2 - 20
    y1, y2 = source.y + NODE_HEIGHT, target.y + NODE_HEIGHT
    depth = _depth(source, target)
    along = f"Q{x1} {depth} {x1 - 20} {depth} L{x2 + 20} {depth} Q{x2} {depth} {x2} {depth - 12}"
    return f"M{x1} {y1} L{x1} {depth - 12} {along} L{x2} {y2}"


def _depth(source: DiagramNode, target: DiagramNode) -> int:
    return max(source.y, target.y) + NODE_HEIGHT + (ROW - NODE_HEIGHT) // 2


def _label_places(
    edges: Sequence[DiagramEdge], places: Mapping[str, DiagramNode]
) -> dict[int, tuple[int, int]]:
    """Where the label of each edge stands, by the edge's index: no two at one place.

    Labels pile up from the line, so those of lower sources come first: the upper source's is the upper one.
    """
    taken: set[tuple[int, int]] = set()
    found: dict[int, tuple[int, int]] = {}
    labelled = [index for index, edge in enumerate(edges) if edge.label]
    for index in sorted(labelled, key=lambda each: (places[edges[each].source].y, each), reverse=True):
        edge = edges[index]
        x, line = _label_line(edge, places[edge.source], places[edge.target])
        # Above a way back there is the node that it leads to.
        beside = _BESIDE[:1] if edge.is_back else _BESIDE
        offsets = chain(beside, count(beside[-1] + _LABEL_HEIGHT, _LABEL_HEIGHT))
        found[index] = next((x, line + each) for each in offsets if (x, line + each) not in taken)
        taken.add(found[index])
    return found


def _label_line(edge: DiagramEdge, source: DiagramNode, target: DiagramNode) -> tuple[int, int]:
    """The part of an edge that its label stands at: the middle of the way back, else right behind the bend,
    where edges that leave one node have already parted."""
    if edge.is_back:
        return (source.x + target.x + NODE_WIDTH) // 2, _depth(source, target)
    return source.x + NODE_WIDTH + _BEND, target.y + NODE_HEIGHT // 2


def _label(edge: DiagramEdge, x: int, y: int) -> str:
    colour = _ERROR if edge.type == "error" else _LINE
    anchor = "middle" if edge.is_back else "start"
    return (
        f'<text x="{x}" y="{y}" font-size="11" text-anchor="{anchor}" fill="{colour}">'
        f"{_text(edge.label, _LABEL_LENGTH)}</text>"
    )
