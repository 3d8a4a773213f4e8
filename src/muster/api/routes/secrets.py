"""Secrets: written by administrators, listed by name, their values shown to nobody."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.guard import Admin
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.reading import read_body
from muster.api.registries import DELETING, LISTING, WRITING, Tenant, audited, found, owner
from muster.api.registry_shapes import SecretBody, SecretPage, SecretRow, SecretValue
from muster.api.strict import StrictRoute
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["secrets"])

KIND, WHAT = "secret", "secret"
Name = Annotated[str, Path(description="The secret's name.")]


@router.post(
    "/api/secrets",
    summary="Write a new secret",
    **described(
        SecretRow,
        *WRITING,
        Code.TAKEN,
        Code.NOT_CONFIGURED,
        role=Role.ADMIN,
        status=201,
        body=json_body(SecretBody, {"name": "shop_password", "value": "correct horse battery staple"}),
        notes="It is kept encrypted, and no answer ever holds its value.",
    ),
)
async def create_secret(request: Request, caller: Admin, parts: Given) -> Response:
    body = await read_body(request, SecretBody, parts.body_limit)
    institute = owner(caller, body.institute_id)
    audit = audited(KIND, body.name, "create", caller, institute)
    made = await parts.registries.secrets.create(institute, body.name, body.value, audit)
    return answer(SecretRow.model_validate(made), 201)


@router.get("/api/secrets", summary="List secrets", **described(SecretPage, *LISTING, role=Role.ADMIN))
async def list_secrets(caller: Admin, parts: Given, listed: Listed, tenant: Tenant) -> Response:
    secrets, following = await parts.registries.secrets.list(tenant, listed)
    rows = [SecretRow.model_validate(each) for each in secrets]
    return answer(SecretPage(items=rows, next_cursor=following))


@router.put(
    "/api/secrets/{name}",
    summary="Give a secret a new value",
    **described(
        SecretRow,
        *WRITING,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.NOT_CONFIGURED,
        role=Role.ADMIN,
        body=json_body(SecretValue, {"value": "correct horse battery staple"}),
    ),
)
async def replace_secret(
    request: Request, name: Name, caller: Admin, parts: Given, tenant: Tenant
) -> Response:
    body = await read_body(request, SecretValue, parts.body_limit)
    present = found(await parts.registries.secrets.get(tenant, name), WHAT, name)
    audit = audited(KIND, name, "replace", caller, present.institute_id)
    changed = await parts.registries.secrets.put(present.institute_id, name, body.value, audit)
    return answer(SecretRow.model_validate(changed))


@router.delete(
    "/api/secrets/{name}",
    summary="Remove a secret",
    **described(None, *DELETING, role=Role.ADMIN, status=204),
)
async def delete_secret(name: Name, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    audit = audited(KIND, name, "delete", caller, tenant or "")
    found(await parts.registries.secrets.delete(tenant, name, audit) or None, WHAT, name)
    return Response(status_code=204)
