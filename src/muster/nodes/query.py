"""QUERY: a registered query's rows, into the context."""

from collections.abc import Mapping

from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.nodes.parts import config, fields, literal, text

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
