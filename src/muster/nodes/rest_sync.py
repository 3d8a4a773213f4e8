"""REST_SYNC: one HTTP request and its answer."""

import asyncio
from collections.abc import Mapping

from muster.definitions.steps.words import target
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.model.problems import Problem
from muster.nodes.answer_schema import fault_of
from muster.nodes.parts import (
    HEADERS,
    MAPPING,
    SUMMARY,
    anything,
    bodies,
    choice,
    closed,
    config,
    duration,
    fields,
    literal,
    mapped,
    processing,
    processing_defs,
    text,
    too_deep,
)
from muster.nodes.ports import Http
from muster.nodes.resolved import BadParameter, object_of
from muster.nodes.rest_answer import BadAnswer, document_of, done, expectation_flaw, is_expected, refusal
from muster.nodes.rest_request import METHODS, request_of, secret_headers

_EXAMPLE: JsonObject = {
    "url": "https://api.example.com/orders/#{orderId}",
    "method": "GET",
    "outputMapping": {"order": "$.body"},
}
_AUTH = closed(
    {
        "type": choice("Kind", ["none", "bearer", "basic", "header"]),
        "token": text("Token", "", "#{_vars.token}"),
        "username": text("User name"),
        "password": text("Password", "", "#{_vars.password}"),
        "header": text("Header"),
        "value": text("Value"),
    },
    "type",
    title="Authentication",
)


_BODY: JsonObject = {
    "url": text("Address", "", "https://api.example.com/process", format="web-address"),
    "method": {**choice("Method", [*METHODS], default="GET"), "x-literal": False},
    "headers": HEADERS,
    "query": fields("Query parameters"),
    "body": anything("Body", "An object is sent as JSON, text as it is."),
    "auth": _AUTH,
    "timeout": duration("Timeout", default="30s"),
    "expect": literal(
        {
            "type": ["array", "integer", "string"],
            "title": "Expected answer",
            "description": (
                "Status codes that count as success (`[200, 404]`), or a condition on the answer, "
                "without `#{}`: `status == 200`."
            ),
            "items": {"type": ["integer", "string"]},
        }
    ),
    "outputMapping": MAPPING,
    "schema": {"type": "object", "title": "Answer's JSON Schema"},
}


def check(config: JsonView) -> tuple[Problem, ...]:
    found = list(too_deep(config))
    for body in bodies(config):
        place = "/expect" if body is config else "/forEach"
        flaw = expectation_flaw(body.get("expect"))
        if flaw is not None:
            found.append(Problem("INVALID_EXPRESSION", place, flaw))
        if _is_no_schema(body.get("schema")):
            place = "/schema" if body is config else "/forEach"
            found.append(Problem("INVALID_VALUE", place, "`schema` should be a JSON Schema."))
    return tuple(found)


def _is_no_schema(schema: object) -> bool:
    """Of one that has expressions in it nobody knows before they are computed."""
    if not isinstance(schema, dict) or "#{" in str(schema):
        return False
    try:
        fault_of(schema, None)
    except BadParameter:
        return True
    return False


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    if "on" in config:
        return SUMMARY
    return mapped(config) or frozenset({"status", "headers", "body"})


def say(config: JsonView) -> tuple[str, ...]:
    said = [f"Call {config.get('method', 'GET')} {target(config.get('url'))}."]
    if mapped(config):
        said.append(f"Keep {', '.join(f'`{name}`' for name in sorted(mapped(config)))} of the answer.")
    return tuple(said)


TYPE = NodeType(
    name="REST_SYNC",
    kind=NodeKind.EFFECT,
    category="Integration",
    title="HTTP request",
    description="Makes an HTTP request and keeps its answer.",
    schema=config(processing(_BODY), "url", **{"$defs": processing_defs(_BODY)}),
    examples=(_EXAMPLE,),
    sets=sets,
    check=check,
    say=say,
    local_names=frozenset({"status", "headers", "body", "response"}),
)


class RestSync:
    """Makes the request, and turns its answer into an outcome."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        try:
            request = request_of(params, call)
            answer = await self._http.send(request)
            if isinstance(answer, Failure):
                return answer
            document = document_of(answer, secret_headers(params))
            if not is_expected(params.get("expect"), document, call.scope):
                return refusal(answer, call.now)
            # In a thread: how long it takes is up to the schema and whoever answered.
            fault = await asyncio.to_thread(fault_of, params.get("schema"), document["body"])
            if fault is not None:
                return Failure("UnexpectedAnswer", f"the answer of {answer.host} does not fit: {fault}")
            return done(document, object_of(params.get("outputMapping"), "outputMapping"))
        except BadParameter as bad:
            return Failure("BadParameter", str(bad))
        except BadAnswer as bad:
            return Failure("BadAnswer", str(bad))
