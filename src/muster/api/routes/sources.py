"""Data sources: the databases that queries and actions reach. For administrators."""

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
)
from muster.api.registry_shapes import SourceBody, SourcePage, SourceRow
from muster.api.routes.workflows import IF_MATCH
from muster.api.strict import StrictRoute
from muster.model.access import Caller, Role
from muster.model.registered import SourceDraft

router = APIRouter(route_class=StrictRoute, tags=["data sources"])

KIND, WHAT = "data_source", "data source"
_EXAMPLE = {"key": "shop", "url": "postgresql://muster@db.example/shop", "passwordSecret": "shop_password"}
_BODY = json_body(SourceBody, _EXAMPLE)


@router.post(
    "/api/data-sources",
    summary="Register a data source",
    **described(
        SourceRow,
        *WRITING,
        Code.TAKEN,
        Code.NOT_CONFIGURED,
        role=Role.ADMIN,
        status=201,
        body=_BODY,
        headers=ETAG,
        notes="A password, in the address or beside it, is kept encrypted and never shown.",
    ),
)
async def create_source(request: Request, caller: Admin, parts: Given) -> Response:
    body = await read_body(request, SourceBody, parts.body_limit)
    draft = _draft(body, new_key(body.key), owner(caller, body.institute_id), caller)
    audit = audited(KIND, draft.key, "create", caller, draft.institute_id)
    made = await parts.registries.sources.create(draft, audit)
    return answer(SourceRow.model_validate(made), 201, etag(made.version))


@router.get(
    "/api/data-sources",
    summary="List data sources",
    **described(SourcePage, *LISTING, role=Role.ADMIN),
)
async def list_sources(caller: Admin, parts: Given, listed: Listed, tenant: Tenant) -> Response:
    sources, following = await parts.registries.sources.list(tenant, listed)
    rows = [SourceRow.model_validate(each) for each in sources]
    return answer(SourcePage(items=rows, next_cursor=following))


@router.get(
    "/api/data-sources/{key}",
    summary="Read a data source",
    **described(
        SourceRow,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.ADMIN,
        headers=ETAG,
    ),
)
async def get_source(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    source = found(await parts.registries.sources.get(tenant, key), WHAT, key)
    return answer(SourceRow.model_validate(source), headers=etag(source.version))


@router.put(
    "/api/data-sources/{key}",
    summary="Change a data source",
    **described(
        SourceRow,
        *REPLACING,
        Code.NOT_CONFIGURED,
        role=Role.ADMIN,
        body=_BODY,
        headers=ETAG,
        notes="A password that is left out stays, unless the address is another server's or user's."
        + IF_MATCH,
    ),
)
async def replace_source(
    request: Request, key: EntryKey, caller: Admin, parts: Given, tenant: Tenant
) -> Response:
    expected = read_if_match(request)
    body = await read_body(request, SourceBody, parts.body_limit)
    present = found(await parts.registries.sources.get(tenant, key), WHAT, key)
    check_kept(key, body.key, present.institute_id, body.institute_id)
    draft = _draft(body, key, present.institute_id, caller)
    audit = audited(KIND, key, "replace", caller, present.institute_id)
    source = found(await parts.registries.sources.replace(draft, expected, audit), WHAT, key)
    return answer(SourceRow.model_validate(source), headers=etag(source.version))


@router.delete(
    "/api/data-sources/{key}",
    summary="Remove a data source",
    **described(None, *DELETING, role=Role.ADMIN, status=204),
)
async def delete_source(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    audit = audited(KIND, key, "delete", caller, tenant or "")
    found(await parts.registries.sources.delete(tenant, key, audit) or None, WHAT, key)
    return Response(status_code=204)


def _draft(body: SourceBody, key: str, institute_id: str, caller: Caller) -> SourceDraft:
    return SourceDraft(
        key=key,
        institute_id=institute_id,
        url=body.url,
        password=body.password,
        password_secret=body.password_secret,
        pool_size=body.pool_size,
        # Files are the machine's, and so for those who administer all of it.
        may_use_files=caller.institute_id is None,
    )
