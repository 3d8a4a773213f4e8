"""Types of node, with the JSON Schema of each one's config."""

from fastapi import APIRouter, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.shapes import NodeTypePage, NodeTypeRow
from muster.api.strict import StrictRoute
from muster.model.access import Role
from muster.model.node_type import NodeType

router = APIRouter(route_class=StrictRoute, tags=["node types"])


def _row(found: NodeType) -> NodeTypeRow:
    return NodeTypeRow(
        name=found.name,
        kind=found.kind,
        category=found.category,
        title=found.title,
        description=found.description,
        schema=found.schema,
        examples=list(found.examples),
    )


@router.get(
    "/api/workflow/node-types",
    summary="Every type of node",
    **described(NodeTypePage, role=Role.VIEWER, notes="All of them on one page."),
)
async def list_node_types(caller: Viewer, parts: Given) -> Response:
    rows = [_row(parts.node_types[name]) for name in sorted(parts.node_types)]
    return answer(NodeTypePage(items=rows, next_cursor=None))


@router.get(
    "/api/workflow/node-types/{type}",
    summary="One type of node",
    **described(
        NodeTypeRow, Code.NOT_FOUND, role=Role.VIEWER, notes="Names are matched without regard to case."
    ),
)
async def get_node_type(type: str, caller: Viewer, parts: Given) -> Response:
    found = parts.node_types.get(type.upper())
    if found is None:
        raise Refused(Code.NOT_FOUND, f"There is no node type {type[:100]!r}.")
    return answer(_row(found))
