"""Triggers: what starts workflows from outside, made and changed by editors."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.etags import IF_MATCH, etag, etag_of, read_if_match
from muster.api.execution_shapes import Reason
from muster.api.guard import Editor, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, problem_json, wrong
from muster.api.reading import read_body, read_optional_body
from muster.api.shapes import ProblemEntry
from muster.api.strict import StrictRoute
from muster.api.taken_paths import pointing_into
from muster.api.trigger_shapes import TriggerBody, TriggerPage, TriggerRow, TriggerSaved
from muster.definitions.trigger_library import SavedTrigger
from muster.definitions.trigger_paths import bare_path
from muster.model.access import Role
from muster.model.trigger import Authentication, Trigger, TriggerSettings, TriggerStatus, TriggerType

router = APIRouter(route_class=StrictRoute, tags=["triggers"])

PATH = "/api/workflow/triggers"
_EXAMPLE = {
    "workflowId": "enrol-learner",
    "type": "webhook",
    "triggerEventName": "LEARNER_BATCH_ENROLLMENT",
    "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["userId", "sessionId"]},
}
_BODY = json_body(TriggerBody, _EXAMPLE)
_ETAG = etag_of("The trigger's version")
_WRITING = (Code.UNAVAILABLE, Code.OUTCOME_UNKNOWN)
_SECRETS = (*_WRITING, Code.INVALID_BODY, Code.UNSUPPORTED_MEDIA_TYPE)
_WHY = json_body(Reason, {"reason": "the old one was in a log"})
_SAVING = (*_WRITING, Code.INVALID_BODY, Code.UNSUPPORTED_MEDIA_TYPE, Code.TAKEN, Code.NOT_CONFIGURED)

Id = Annotated[str, Path(description="A trigger's id.")]


@router.post(
    PATH,
    summary="Make a trigger",
    **described(
        TriggerSaved,
        Code.NOT_FOUND,
        Code.CONFLICT,
        *_SAVING,
        role=Role.EDITOR,
        status=201,
        body=_BODY,
        headers=_ETAG,
        notes="With `HMAC`, its `secret` is in this answer and never again. `NONE` is warned about.",
    ),
)
async def create_trigger(request: Request, caller: Editor, parts: Given) -> Response:
    body = await read_body(request, TriggerBody, parts.body_limit)
    if body.workflow_id is None:
        raise wrong("/workflowId", "The field `workflowId` is missing.", "MISSING")
    with pointing_into({"path": body.path}):
        made = await parts.triggers.create(body.workflow_id, _settings(body), caller)
    return _saved(made, 201)


@router.get(
    PATH,
    summary="List triggers",
    **described(
        TriggerPage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
    ),
)
async def list_triggers(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    workflow: Annotated[str | None, Query(description="A workflow's id or key.")] = None,
) -> Response:
    found, following = await parts.triggers.list(caller, workflow, listed)
    return answer(TriggerPage(items=[_row(trigger) for trigger in found], next_cursor=following))


@router.get(
    f"{PATH}/{{id}}",
    summary="Read a trigger",
    **described(TriggerRow, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER, headers=_ETAG),
)
async def get_trigger(id: Id, caller: Viewer, parts: Given) -> Response:
    found = await parts.triggers.get(id, caller)
    return answer(_row(found), headers=etag(found.version))


@router.put(
    f"{PATH}/{{id}}",
    summary="Change a trigger",
    **described(
        TriggerSaved,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.CONFLICT,
        Code.STALE_VERSION,
        *_SAVING,
        role=Role.EDITOR,
        body=_BODY,
        headers=_ETAG,
        notes="One that is a node of a definition is changed there. Secrets stay, unless it is authenticated "
        "in another way from then on." + IF_MATCH,
    ),
)
async def replace_trigger(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    expected = read_if_match(request)
    body = await read_body(request, TriggerBody, parts.body_limit)
    if body.workflow_id is not None:
        of = (await parts.triggers.get(id, caller)).workflow_id
        if of != body.workflow_id and of != (await parts.library.workflow(body.workflow_id, caller)).id:
            raise wrong("/workflowId", "A trigger stays with its workflow.")
    with pointing_into({"path": body.path}):
        return _saved(await parts.triggers.replace(id, _settings(body), caller, expected))


@router.delete(
    f"{PATH}/{{id}}",
    summary="Delete a trigger",
    **described(
        None,
        Code.NOT_FOUND,
        Code.CONFLICT,
        *_WRITING,
        role=Role.EDITOR,
        status=204,
        notes="One that is a node of a definition is removed there.",
    ),
)
async def delete_trigger(id: Id, caller: Editor, parts: Given) -> Response:
    await parts.triggers.delete(id, caller)
    return Response(status_code=204)


@router.post(
    f"{PATH}/{{id}}/rotate",
    summary="Make a new secret",
    **described(
        TriggerSaved,
        Code.NOT_FOUND,
        Code.CONFLICT,
        Code.NOT_CONFIGURED,
        *_SECRETS,
        role=Role.EDITOR,
        body=_WHY,
        body_optional=True,
        headers=_ETAG,
        notes="Its `secret` is in this answer and never again. The one before it stays valid until the next "
        "one is made, or until it is revoked; older ones are not valid any more.",
    ),
)
async def rotate_secret(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return _saved(await parts.triggers.rotate(id, caller, body.reason))


@router.post(
    f"{PATH}/{{id}}/revoke",
    summary="Let only the newest secret be valid",
    **described(
        TriggerRow,
        Code.NOT_FOUND,
        Code.CONFLICT,
        *_SECRETS,
        role=Role.EDITOR,
        body=_WHY,
        body_optional=True,
        headers=_ETAG,
    ),
)
async def revoke_secrets(request: Request, id: Id, caller: Editor, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    kept = await parts.triggers.revoke(id, caller, body.reason)
    return answer(_row(kept), headers=etag(kept.version))


def _settings(body: TriggerBody) -> TriggerSettings:
    return TriggerSettings(
        type=TriggerType(body.type),
        event_name=body.trigger_event_name,
        topic=body.topic,
        path=None if body.path is None else bare_path(body.path),
        filter=body.filter,
        condition=body.condition,
        authentication=Authentication(body.authentication),
        idempotency=body.idempotency_generation_setting,
        status=TriggerStatus(body.status),
    )


def _saved(made: SavedTrigger, status: int = 200) -> Response:
    warnings = [ProblemEntry.model_validate(problem_json(problem)) for problem in made.warnings]
    row = _row(made.trigger).model_dump()
    shape = TriggerSaved.model_validate({**row, "secret": made.secret, "warnings": warnings})
    return answer(shape, status, etag(made.trigger.version))


def _row(trigger: Trigger) -> TriggerRow:
    settings = trigger.settings
    return TriggerRow(
        id=trigger.id,
        workflow_id=trigger.workflow_id,
        type=settings.type,
        trigger_event_name=settings.event_name,
        topic=settings.topic,
        path=settings.path,
        filter=settings.filter,
        condition=settings.condition,
        authentication=settings.authentication,
        idempotency_generation_setting=settings.idempotency,
        status=settings.status,
        node_id=trigger.node_id,
        secrets=list(trigger.secrets),
        version=trigger.version,
        institute_id=trigger.institute_id,
        created_at=trigger.created_at,
        updated_at=trigger.updated_at,
    )
