"""Workflows drawn."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response

from muster.api.describe import described
from muster.api.execution_answers import states_of, visits_of
from muster.api.guard import Viewer
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import read_definition
from muster.api.routes.workflows import BODY, Id
from muster.api.strict import StrictRoute
from muster.definitions.render import Format
from muster.model.access import Role
from muster.model.json import JsonObject

router = APIRouter(route_class=StrictRoute, tags=["diagrams"])


_MEDIA = {
    Format.JSON: "application/json",
    Format.MERMAID: "text/vnd.mermaid",
    Format.DOT: "text/vnd.graphviz",
    Format.SVG: "image/svg+xml",
}
_CONTENT = {
    media: {"schema": {"$ref": "#/components/schemas/Drawing"} if form is Format.JSON else {"type": "string"}}
    for form, media in _MEDIA.items()
}

Wanted = Annotated[Format, Query(alias="format", description="What to draw.")]


@router.get(
    "/api/workflow/visualize/{id}",
    summary="Draw a workflow",
    **described(
        None,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        content=_CONTENT,
        notes="As `json`: nodes with kinds and positions, edges with labels, and each node's steps in words.",
    ),
)
async def visualize_saved(
    id: Id,
    caller: Viewer,
    parts: Given,
    form: Wanted = Format.JSON,
    execution: Annotated[
        str | None, Query(max_length=36, description="An execution of it: how each node fares in that.")
    ] = None,
) -> Response:
    if execution is None:
        return _drawn(await parts.library.visualize(id, caller, form), form)
    found = await parts.control.get(execution, caller)
    workflow = await parts.library.workflow(id, caller)
    if found.row.workflow_id != workflow.id:
        raise Refused(Code.NOT_FOUND, f"The execution {execution!r} is of another workflow.")
    states = states_of(await visits_of(parts.following, found))
    return _drawn(await parts.library.visualize(workflow.id, caller, form, found.row.version, states), form)


@router.post(
    "/api/workflow/visualize",
    summary="Draw a definition that is not saved",
    **described(
        None,
        Code.INVALID_DEFINITION,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        content=_CONTENT,
        body=BODY,
    ),
)
async def visualize_given(
    request: Request, caller: Viewer, parts: Given, form: Wanted = Format.JSON
) -> Response:
    document = await read_definition(request, parts.body_limit)
    return _drawn(await parts.library.visualize_document(document, caller, form), form)


def _drawn(made: str | JsonObject, form: Format) -> Response:
    return Response(made if isinstance(made, str) else orjson.dumps(made), media_type=_MEDIA[form])
