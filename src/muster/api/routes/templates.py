"""Node templates: configs that several nodes share."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.guard import Editor, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, wrong
from muster.api.reading import read_body
from muster.api.shapes import TemplateBody, TemplatePage, TemplateRow
from muster.api.strict import StrictRoute
from muster.definitions.configs import Origin
from muster.definitions.jsontext import read_json
from muster.model.access import Role
from muster.model.json import JsonObject
from muster.model.problems import AuthorError
from muster.model.stored import NodeTemplate

router = APIRouter(route_class=StrictRoute, tags=["node templates"])

_EXAMPLE = {
    "id": "welcome_mail",
    "name": "Welcome mail",
    "nodeType": "SEND_EMAIL",
    "configJson": {"on": "#{users}", "forEach": {"subject": "Welcome", "body": "Dear #{item.name}"}},
}
_BODY = json_body(TemplateBody, _EXAMPLE)
_ETAG = etag_of("The template's version")

Id = Annotated[str, Path(description="A template's id.")]


@router.post(
    "/api/workflow/node-templates",
    summary="Save a new template",
    **described(
        TemplateRow,
        Code.INVALID_BODY,
        Code.INVALID_DEFINITION,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.TAKEN,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        status=201,
        body=_BODY,
        headers=_ETAG,
    ),
)
async def create_template(request: Request, caller: Editor, parts: Given) -> Response:
    body = await read_body(request, TemplateBody, parts.body_limit)
    config, origin = _config(body)
    made = await parts.library.create_template(body.id, body.name, body.node_type, config, caller, origin)
    return answer(_row(made), 201, etag(made.version))


@router.get(
    "/api/workflow/node-templates",
    summary="List templates",
    **described(
        TemplatePage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Those that come with Muster are at the end.",
    ),
)
async def list_templates(caller: Viewer, parts: Given, listed: Listed) -> Response:
    found, following = await parts.library.templates(caller, listed)
    return answer(TemplatePage(items=[_row(template) for template in found], next_cursor=following))


@router.get(
    "/api/workflow/node-templates/{id}",
    summary="Read a template",
    **described(TemplateRow, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER, headers=_ETAG),
)
async def get_template(id: Id, caller: Viewer, parts: Given) -> Response:
    found = await parts.library.template(id, caller)
    return answer(_row(found), headers=etag(found.version))


@router.put(
    "/api/workflow/node-templates/{id}",
    summary="Change a template",
    **described(
        TemplateRow,
        Code.NOT_FOUND,
        Code.INVALID_BODY,
        Code.INVALID_DEFINITION,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.CONFLICT,
        Code.STALE_VERSION,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        body=_BODY,
        headers=_ETAG,
        notes="Saved versions keep the config that they were saved with. A built-in one stays as it is."
        + IF_MATCH,
    ),
)
async def replace_template(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    expected = read_if_match(request)
    body = await read_body(request, TemplateBody, parts.body_limit)
    if body.id not in (None, id):
        raise wrong("/id", "The id is in the path; a template keeps the one it has.")
    config, origin = _config(body)
    made = await parts.library.replace_template(
        id, body.name, body.node_type, config, caller, expected, origin
    )
    return answer(_row(made), headers=etag(made.version))


@router.delete(
    "/api/workflow/node-templates/{id}",
    summary="Delete a template",
    **described(
        None,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.CONFLICT,
        Code.STALE_VERSION,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        status=204,
        notes="A built-in one stays." + IF_MATCH,
    ),
)
async def delete_template(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    await parts.library.delete_template(id, caller, read_if_match(request))
    return Response(status_code=204)


def _config(body: TemplateBody) -> tuple[JsonObject, Origin]:
    """The config under either of its names, as an object or as JSON text, and where it stands."""
    if body.config is not None and body.config_json is not None:
        raise wrong("/config", "`config` and `configJson` are the same: give one of them.")
    if body.config is not None:
        return body.config, Origin("/config", body.config)
    given = body.config_json
    if not isinstance(given, str):
        return given or {}, Origin("/configJson", given or {})
    try:
        value = read_json(given)
    except AuthorError as error:
        raise wrong("/configJson", str(error)) from None
    if not isinstance(value, dict):
        raise wrong("/configJson", "The config must be an object.")
    return value, Origin("/configJson", None)


def _row(template: NodeTemplate) -> TemplateRow:
    return TemplateRow(
        id=template.id,
        name=template.name,
        node_type=template.node_type,
        config_json=template.config,
        version=template.version,
        institute_id=template.institute_id,
        built_in=template.built_in,
    )
