"""Actions: SQL that writes, registered under the keys that workflows name. For administrators."""

from datetime import datetime

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Admin
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.reading import read_body, read_if_match
from muster.api.registries import (
    DELETING,
    ETAG,
    LISTING,
    REPLACING,
    WRITING,
    EntryKey,
    Tenant,
    audited,
    check_kept,
    etag,
    found,
    new_key,
    owner,
    refuse,
)
from muster.api.registry_shapes import ActionBody, ActionPage, ActionRow
from muster.api.routes.workflows import IF_MATCH
from muster.api.strict import StrictRoute
from muster.model.access import Role
from muster.model.registered import ActionDefinition
from muster.nodes.sql import check_action

router = APIRouter(route_class=StrictRoute, tags=["actions"])

KIND, WHAT = "action_definition", "action"
_EXAMPLE = {
    "key": "closeOrder",
    "dataSource": "shop",
    "sql": "UPDATE orders SET status = 'CLOSED' WHERE id = :id",
    "paramsSchema": {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
}
_BODY = json_body(ActionBody, _EXAMPLE)


@router.post(
    "/api/actions",
    summary="Register an action",
    **described(
        ActionRow,
        *WRITING,
        Code.TAKEN,
        role=Role.ADMIN,
        status=201,
        body=_BODY,
        headers=ETAG,
        notes="Values are bound to `:name`. Each name is in the schema, if there is one. `:_key`, "
        "`:_instituteId` and `:_now` are always given.",
    ),
)
async def create_action(request: Request, caller: Admin, parts: Given) -> Response:
    body = await read_body(request, ActionBody, parts.body_limit)
    wanted = _action(body, new_key(body.key), owner(caller, body.institute_id), parts.clock.now())
    audit = audited(KIND, wanted.key, "create", caller, wanted.institute_id)
    made = await parts.registries.actions.create(wanted, audit)
    return answer(ActionRow.model_validate(made), 201, etag(made.version))


@router.get(
    "/api/actions",
    summary="List actions",
    **described(ActionPage, *LISTING, role=Role.ADMIN),
)
async def list_actions(caller: Admin, parts: Given, listed: Listed, tenant: Tenant) -> Response:
    actions, following = await parts.registries.actions.list(tenant, listed)
    return answer(
        ActionPage(items=[ActionRow.model_validate(each) for each in actions], next_cursor=following)
    )


@router.get(
    "/api/actions/{key}",
    summary="Read an action",
    **described(
        ActionRow,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.ADMIN,
        headers=ETAG,
    ),
)
async def get_action(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    action = found(await parts.registries.actions.get(tenant, key), WHAT, key)
    return answer(ActionRow.model_validate(action), headers=etag(action.version))


@router.put(
    "/api/actions/{key}",
    summary="Change an action",
    **described(
        ActionRow,
        *REPLACING,
        role=Role.ADMIN,
        body=_BODY,
        headers=ETAG,
        notes="Workflows use it as it is from then on." + IF_MATCH,
    ),
)
async def replace_action(
    request: Request, key: EntryKey, caller: Admin, parts: Given, tenant: Tenant
) -> Response:
    expected = read_if_match(request)
    body = await read_body(request, ActionBody, parts.body_limit)
    present = found(await parts.registries.actions.get(tenant, key), WHAT, key)
    check_kept(key, body.key, present.institute_id, body.institute_id)
    wanted = _action(body, key, present.institute_id, parts.clock.now())
    audit = audited(KIND, key, "replace", caller, present.institute_id)
    action = found(await parts.registries.actions.replace(wanted, expected, audit), WHAT, key)
    return answer(ActionRow.model_validate(action), headers=etag(action.version))


@router.delete(
    "/api/actions/{key}",
    summary="Remove an action",
    **described(None, *DELETING, role=Role.ADMIN, status=204),
)
async def delete_action(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    audit = audited(KIND, key, "delete", caller, tenant or "")
    found(await parts.registries.actions.delete(tenant, key, audit) or None, WHAT, key)
    return Response(status_code=204)


def _action(body: ActionBody, key: str, institute_id: str, now: datetime) -> ActionDefinition:
    action = ActionDefinition(
        key=key,
        institute_id=institute_id,
        data_source=body.data_source,
        sql=(body.sql,) if isinstance(body.sql, str) else tuple(body.sql),
        created_at=now,
        updated_at=now,
        params_schema=body.params_schema,
        description=body.description,
        timeout_seconds=body.timeout_seconds,
    )
    refuse(check_action(action))
    return action
