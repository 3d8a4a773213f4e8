"""Queries: SQL that reads, registered under the keys that workflows name. For administrators."""

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
from muster.api.registry_shapes import QueryBody, QueryPage, QueryRow
from muster.api.routes.workflows import IF_MATCH
from muster.api.strict import StrictRoute
from muster.model.access import Role
from muster.model.registered import PrebuiltQuery
from muster.nodes.sql import check_query, default_result_key

router = APIRouter(route_class=StrictRoute, tags=["queries"])

KIND, WHAT = "prebuilt_query", "query"
_EXAMPLE = {
    "key": "getLateOrders",
    "dataSource": "shop",
    "sql": "SELECT id, email FROM orders WHERE status = 'OPEN' AND days > :days",
    "paramsSchema": {"properties": {"days": {"type": "integer", "default": 7}}},
}
_BODY = json_body(QueryBody, _EXAMPLE)


@router.post(
    "/api/queries",
    summary="Register a query",
    **described(
        QueryRow,
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
async def create_query(request: Request, caller: Admin, parts: Given) -> Response:
    body = await read_body(request, QueryBody, parts.body_limit)
    wanted = _query(body, new_key(body.key), owner(caller, body.institute_id), parts.clock.now())
    audit = audited(KIND, wanted.key, "create", caller, wanted.institute_id)
    made = await parts.registries.queries.create(wanted, audit)
    return answer(QueryRow.model_validate(made), 201, etag(made.version))


@router.get(
    "/api/queries",
    summary="List queries",
    **described(QueryPage, *LISTING, role=Role.ADMIN),
)
async def list_queries(caller: Admin, parts: Given, listed: Listed, tenant: Tenant) -> Response:
    queries, following = await parts.registries.queries.list(tenant, listed)
    rows = [QueryRow.model_validate(each) for each in queries]
    return answer(QueryPage(items=rows, next_cursor=following))


@router.get(
    "/api/queries/{key}",
    summary="Read a query",
    **described(
        QueryRow,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.ADMIN,
        headers=ETAG,
    ),
)
async def get_query(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    query = found(await parts.registries.queries.get(tenant, key), WHAT, key)
    return answer(QueryRow.model_validate(query), headers=etag(query.version))


@router.put(
    "/api/queries/{key}",
    summary="Change a query",
    **described(
        QueryRow,
        *REPLACING,
        role=Role.ADMIN,
        body=_BODY,
        headers=ETAG,
        notes="Workflows use it as it is from then on." + IF_MATCH,
    ),
)
async def replace_query(
    request: Request, key: EntryKey, caller: Admin, parts: Given, tenant: Tenant
) -> Response:
    expected = read_if_match(request)
    body = await read_body(request, QueryBody, parts.body_limit)
    present = found(await parts.registries.queries.get(tenant, key), WHAT, key)
    check_kept(key, body.key, present.institute_id, body.institute_id)
    wanted = _query(body, key, present.institute_id, parts.clock.now())
    audit = audited(KIND, key, "replace", caller, present.institute_id)
    query = found(await parts.registries.queries.replace(wanted, expected, audit), WHAT, key)
    return answer(QueryRow.model_validate(query), headers=etag(query.version))


@router.delete(
    "/api/queries/{key}",
    summary="Remove a query",
    **described(None, *DELETING, role=Role.ADMIN, status=204),
)
async def delete_query(key: EntryKey, caller: Admin, parts: Given, tenant: Tenant) -> Response:
    audit = audited(KIND, key, "delete", caller, tenant or "")
    found(await parts.registries.queries.delete(tenant, key, audit) or None, WHAT, key)
    return Response(status_code=204)


def _query(body: QueryBody, key: str, institute_id: str, now: datetime) -> PrebuiltQuery:
    query = PrebuiltQuery(
        key=key,
        institute_id=institute_id,
        data_source=body.data_source,
        sql=body.sql,
        result_key=body.result_key or default_result_key(key),
        created_at=now,
        updated_at=now,
        params_schema=body.params_schema,
        description=body.description,
        max_rows=body.max_rows,
        timeout_seconds=body.timeout_seconds,
    )
    refuse(check_query(query))
    return query
