"""Queries: SQL that reads, registered under the keys that workflows name. For administrators."""

from muster.api.registries import SQL_NOTES, USED_AT_ONCE, refuse
from muster.api.registry_routes import Making, Registry, registry_router
from muster.api.registry_shapes import QueryBody, QueryPage, QueryRow
from muster.model.registered import PrebuiltQuery
from muster.nodes.sql import check_query, default_result_key


def _query(body: QueryBody, making: Making) -> PrebuiltQuery:
    query = PrebuiltQuery(
        key=making.key,
        institute_id=making.institute_id,
        data_source=body.data_source,
        sql=body.sql,
        result_key=body.result_key or default_result_key(making.key),
        created_at=making.now,
        updated_at=making.now,
        params_schema=body.params_schema,
        description=body.description,
        max_rows=body.max_rows,
        timeout_seconds=body.timeout_seconds,
    )
    refuse(check_query(query))
    return query


router = registry_router(
    Registry(
        path="/api/queries",
        kind="prebuilt_query",
        one="a query",
        many="queries",
        body=QueryBody,
        row=QueryRow,
        page=QueryPage,
        example={
            "key": "getLateOrders",
            "dataSource": "shop",
            "sql": "SELECT id, email FROM orders WHERE status = 'OPEN' AND days > :days",
            "paramsSchema": {"properties": {"days": {"type": "integer", "default": 7}}},
        },
        kept=lambda registries: registries.queries,
        make=_query,
        create_notes=SQL_NOTES,
        replace_notes=USED_AT_ONCE,
    )
)
