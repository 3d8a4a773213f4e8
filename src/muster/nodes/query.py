"""QUERY: a registered query's rows, into the context."""

from collections.abc import Mapping
from dataclasses import replace

from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.registered import PrebuiltQuery
from muster.nodes.data_ports import Databases, QueryFunction, Registered, Target
from muster.nodes.parts import config, fields, literal, text
from muster.nodes.resolved import BadParameter, object_of
from muster.nodes.sql import given_by, statements_of

_EXAMPLE: JsonObject = {"prebuiltKey": "getExpiringSubscriptions", "params": {"daysAhead": 7}}


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    key = config.get("prebuiltKey")
    return frozenset({queries[key]}) if isinstance(key, str) and key in queries else None


TYPE = NodeType(
    name="QUERY",
    kind=NodeKind.EFFECT,
    category="Data",
    title="Query",
    description="Runs a registered query and puts its rows into the context.",
    schema=config(
        {
            "prebuiltKey": literal(
                text("Query", "The key of a registered query.", format="query-key", minLength=1)
            ),
            "params": fields("Parameters", "Values for the query's named parameters.", {"daysAhead": 7}),
        },
        "prebuiltKey",
    ),
    family=StepFamily.QUERY,
    examples=(_EXAMPLE,),
    sets=sets,
)


class Query:
    """Runs a registered query, or a plug-in's function, which comes first. Its rows are the output, and a
    name in the context: `results` says which, for the functions."""

    def __init__(
        self,
        registered: Registered,
        databases: Databases,
        functions: Mapping[str, QueryFunction] | None = None,
        results: Mapping[str, str] | None = None,
    ) -> None:
        self._registered, self._databases = registered, databases
        self._functions, self._results = functions or {}, results or {}

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        key = str(params.get("prebuiltKey"))
        try:
            values = object_of(params.get("params"), "params")
            if key in self._functions:
                rows = await self._functions[key](dict(values), call)
                return _done(key, rows, self._results[key])
            query = await self._registered.query(call.institute_id, key)
            if query is None:
                return Failure("UnknownQuery", f"no query `{key}` is registered")
            return await self._read(query, values, call)
        except BadParameter as bad:
            return Failure("BadParameter", f"query `{key}`: {bad}")

    async def _read(self, query: PrebuiltQuery, values: JsonView, call: Call) -> Done | Failure:
        (statement,) = statements_of([query.sql], query.params_schema, values, {}, given_by(call))
        target = Target(query.institute_id, query.data_source, query.timeout_seconds)
        return _done(
            query.key, await self._databases.read(target, statement, query.max_rows), query.result_key
        )


def _done(key: str, rows: list[Json] | Failure, name: str) -> Done | Failure:
    if isinstance(rows, Failure):
        return replace(rows, message=f"query `{key}`: {rows.message}")
    result: JsonObject = {name: rows}
    return Done(result, result)
