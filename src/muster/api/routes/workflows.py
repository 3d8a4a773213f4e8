"""Workflows and their versions."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import definition_body, described, json_body
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.guard import Editor, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, problem_json
from muster.api.reading import read_definition, read_optional_body
from muster.api.shapes import (
    Activate,
    DefinitionVerdict,
    ProblemEntry,
    VersionPage,
    VersionRow,
    WorkflowCreated,
    WorkflowPage,
    WorkflowRow,
    WorkflowWhole,
)
from muster.api.strict import StrictRoute
from muster.api.taken_paths import pointing_into
from muster.definitions.library import Saved
from muster.model.access import Role
from muster.model.problems import Problem
from muster.model.stored import Version, Workflow
from muster.model.workflow import WorkflowStatus

router = APIRouter(route_class=StrictRoute, tags=["workflows"])

EXAMPLE = {
    "workflow": {
        "name": "Hello",
        "nodes": [
            {
                "id": "greet",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "greeting", "expression": "#{'Hello, ' + name}"}]},
            }
        ],
    }
}
EXAMPLE_YAML = """\
workflow:
  name: Hello
  nodes:
    - id: greet
      type: TRANSFORM
      config:
        transformations:
          - {field: greeting, expression: "#{'Hello, ' + name}"}
"""
BODY = definition_body(EXAMPLE, EXAMPLE_YAML)

Id = Annotated[str, Path(description="A workflow's id or key.")]
Number = Annotated[int, Path(ge=1, le=2_147_483_647, description="A version's number.")]
ETAG = etag_of("The latest version's number")


@router.post(
    "/api/workflow",
    summary="Save a new workflow",
    **described(
        WorkflowCreated,
        Code.INVALID_DEFINITION,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.TAKEN,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        status=201,
        body=BODY,
        headers=ETAG,
        notes="Version 1, active unless its `status` is `DRAFT`. All mistakes come back at once.",
    ),
)
async def create_workflow(request: Request, caller: Editor, parts: Given) -> Response:
    document = await read_definition(request, parts.body_limit)
    with pointing_into(document):
        saved = await parts.library.create(document, caller)
    return answer(_created(saved), 201, etag(saved.version))


@router.get(
    "/api/workflow",
    summary="List workflows",
    **described(
        WorkflowPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first; archived ones only with `status=ARCHIVED`.",
    ),
)
async def list_workflows(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[WorkflowStatus | None, Query(description="Only those.")] = None,
    q: Annotated[str | None, Query(max_length=200, description="Part of a name or key.")] = None,
) -> Response:
    found, following = await parts.library.list(caller, listed, status, q)
    return answer(WorkflowPage(items=[_row(workflow) for workflow in found], next_cursor=following))


@router.post(
    "/api/workflow/validate",
    summary="Check a definition without saving it",
    **described(
        DefinitionVerdict,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        body=BODY,
        notes="200 whether it is valid or not; text that is neither JSON nor YAML is a 400.",
    ),
)
async def validate(request: Request, caller: Viewer, parts: Given) -> Response:
    document = await read_definition(request, parts.body_limit)
    checked = await parts.library.validate(document, caller)
    return answer(
        DefinitionVerdict(
            valid=not checked.errors, errors=_entries(checked.errors), warnings=_entries(checked.warnings)
        )
    )


@router.get(
    "/api/workflow/{id}",
    summary="Read a workflow and its newest definition",
    **described(
        WorkflowWhole,
        Code.NOT_FOUND,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        headers=ETAG,
    ),
)
async def get_workflow(id: Id, caller: Viewer, parts: Given) -> Response:
    workflow, version = await parts.library.get(id, caller)
    return answer(_whole(workflow, version), headers=etag(workflow.latest_version))


@router.put(
    "/api/workflow/{id}",
    summary="Save a further version",
    **described(
        WorkflowCreated,
        Code.NOT_FOUND,
        Code.INVALID_DEFINITION,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.TAKEN,
        Code.STALE_VERSION,
        Code.TAKEN,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        body=BODY,
        headers=ETAG,
        notes="It becomes the active one with `activate=true`." + IF_MATCH,
    ),
)
async def update_workflow(
    request: Request,
    id: Id,
    caller: Editor,
    parts: Given,
    activate: Annotated[bool, Query(description="Start new executions on it.")] = False,
) -> Response:
    expected = read_if_match(request)
    document = await read_definition(request, parts.body_limit)
    with pointing_into(document):
        saved = await parts.library.update(id, document, caller, expected, activate)
    return answer(_created(saved), headers=etag(saved.version))


@router.delete(
    "/api/workflow/{id}",
    summary="Archive a workflow",
    **described(
        None,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.STALE_VERSION,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        status=204,
        notes="It starts nothing more; what it did stays readable." + IF_MATCH,
    ),
)
async def archive_workflow(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    await parts.library.archive(id, caller, read_if_match(request))
    return Response(status_code=204)


@router.get(
    "/api/workflow/{id}/versions",
    summary="List a workflow's versions",
    **described(
        VersionPage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_versions(id: Id, caller: Viewer, parts: Given, listed: Listed) -> Response:
    found, following = await parts.library.versions(id, caller, listed)
    return answer(VersionPage(items=[_version(version) for version in found], next_cursor=following))


@router.get(
    "/api/workflow/{id}/versions/{number}",
    summary="Read one version",
    **described(VersionRow, Code.NOT_FOUND, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_version(id: Id, number: Number, caller: Viewer, parts: Given) -> Response:
    return answer(_version(await parts.library.version(id, number, caller)))


@router.post(
    "/api/workflow/{id}/activate",
    summary="Activate a version",
    **described(
        WorkflowRow,
        Code.NOT_FOUND,
        Code.INVALID_BODY,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.TAKEN,
        Code.STALE_VERSION,
        Code.TAKEN,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.EDITOR,
        body=json_body(Activate, {"version": 2}),
        body_optional=True,
        headers=ETAG,
        notes="New executions start on it. Without a body: the latest version." + IF_MATCH,
    ),
)
async def activate_workflow(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    expected = read_if_match(request)
    body = await read_optional_body(request, Activate, parts.body_limit)
    workflow = await parts.library.activate(id, body.version, caller, expected)
    return answer(_row(workflow), headers=etag(workflow.latest_version))


def _entries(problems: tuple[Problem, ...] | list[Problem]) -> list[ProblemEntry]:
    return [ProblemEntry.model_validate(problem_json(problem)) for problem in problems]


def _created(saved: Saved) -> WorkflowCreated:
    workflow = saved.workflow
    return WorkflowCreated(
        id=workflow.id, key=workflow.key, version=saved.version, warnings=_entries(saved.warnings)
    )


def _row(workflow: Workflow) -> WorkflowRow:
    return WorkflowRow.model_validate(workflow)


def _whole(workflow: Workflow, version: Version) -> WorkflowWhole:
    return WorkflowWhole.model_validate(
        {**asdict(workflow), "version": version.number, "definition": version.document}
    )


def _version(version: Version) -> VersionRow:
    return VersionRow(
        id=version.id,
        workflow_id=version.workflow_id,
        version=version.number,
        definition=version.document,
        checksum=version.checksum,
        created_by=version.created_by,
        created_at=version.created_at,
    )
