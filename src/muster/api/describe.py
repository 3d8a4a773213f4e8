"""The OpenAPI document: what FastAPI derives from the routes, completed with what it cannot know."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from muster.api import (
    alert_shapes,
    approval_shapes,
    board_topic,
    bulk_shapes,
    execution_shapes,
    idempotency_shapes,
    ingest_shapes,
    letter_shapes,
    message_shapes,
    order_shapes,
    registry_shapes,
    replay_shapes,
    schedule_shapes,
    shapes,
    topics,
    trigger_shapes,
    wait_shapes,
)
from muster.api.camunda import bodies as camunda_bodies
from muster.api.camunda import told as camunda_told
from muster.api.problems import MEANINGS, MEDIA_TYPE, Code
from muster.model.access import Role
from muster.watch.graph import DOCUMENT

_PROBLEM = {"$ref": "#/components/schemas/ProblemDetails"}
_OTHER_SHAPES: tuple[type[BaseModel], ...] = (
    shapes.Activate,
    execution_shapes.Execute,
    execution_shapes.Reason,
    execution_shapes.Cancel,
    execution_shapes.Resume,
    execution_shapes.Retry,
    execution_shapes.NodeEvent,
    topics.ExecutionsChanged,
    letter_shapes.Redrive,
    approval_shapes.Decide,
    *camunda_bodies.BODIES,
    camunda_told.CamundaTask,
    camunda_told.CamundaError,
    *bulk_shapes.BODIES,
    *alert_shapes.BODIES,
    *replay_shapes.BODIES,
    board_topic.BoardChanged,
    *idempotency_shapes.BODIES,
    *schedule_shapes.BODIES,
    *message_shapes.BODIES,
    *ingest_shapes.BODIES,
    *order_shapes.BODIES,
    wait_shapes.Apply,
    wait_shapes.Rearm,
    shapes.TemplateBody,
    shapes.Evaluate,
    shapes.TokenBody,
    trigger_shapes.TriggerBody,
    trigger_shapes.Fire,
    *registry_shapes.BODIES,
    shapes.ProblemDetails,
    shapes.Drawing,
)
_COMMON = (Code.UNKNOWN_PARAMETER, Code.NOT_LOOPBACK, Code.INTERNAL_ERROR)
_GUARDED = (Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.RATE_LIMITED, Code.PROVIDER_UNAVAILABLE)

# FastAPI's own type for these keyword arguments is a plain dictionary.
Arguments = dict[str, Any]


def described(
    shape: type[BaseModel] | None,
    *problems: Code,
    role: Role | None = None,
    status: int = 200,
    body: Mapping[str, object] | None = None,
    body_optional: bool = False,
    content: Mapping[str, object] | None = None,
    headers: Mapping[str, object] | None = None,
    notes: str = "",
    also: Mapping[int, type[BaseModel] | None] | None = None,
) -> Arguments:
    """What a route's decorator says besides its path: the answer, every problem, the role and the body.

    `body_optional`: an empty body means that every field is left out. `also` are further answers that are
    no problems, by their status.
    """
    answer: dict[str, object] = {"description": "What was asked for." if shape or content else "Done."}
    if shape:
        answer["model"] = shape
    if content:
        answer["content"] = content
    if headers:
        answer["headers"] = headers
    extra: dict[str, object] = {"x-role": role.value if role else None}
    extra["security"] = [{"token": []}] if role else []
    if body:
        extra["requestBody"] = {"required": not body_optional, "content": body}
        problems += (Code.BODY_TOO_LARGE, Code.BODY_TOO_SLOW, Code.MALFORMED_BODY)
    every = (*problems, *_COMMON, *(_GUARDED if role else ()))
    return {
        "status_code": status,
        "response_class": Response,
        "responses": {status: answer, **_further(also or {}), **problem_answers(every)},
        "openapi_extra": extra,
        "description": notes or None,
    }


def _further(shapes: Mapping[int, type[BaseModel] | None]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"description": "What was asked for.", "model": shape} if shape else {"description": "Done."}
        for status, shape in shapes.items()
    }


def problem_answers(codes: Sequence[Code]) -> dict[int | str, dict[str, Any]]:
    """One answer for each status, naming the codes that it may carry."""
    by_status: dict[int, list[Code]] = {}
    for code in sorted(set(codes)):
        by_status.setdefault(MEANINGS[code][0], []).append(code)
    return {
        status: {
            "description": " ".join(f"`{code}`: {MEANINGS[code][1]}" for code in found),
            "content": {MEDIA_TYPE: {"schema": _PROBLEM}},
        }
        for status, found in sorted(by_status.items())
    }


def json_body(shape: type[BaseModel], example: object) -> dict[str, object]:
    schema = {"$ref": f"#/components/schemas/{shape.__name__}"}
    return {"application/json": {"schema": schema, "example": example}}


def definition_body(example: object, yaml: str) -> dict[str, object]:
    """A workflow in any of its shapes, as JSON or YAML."""
    schema = {"$ref": "#/components/schemas/DefinitionDocument"}
    return {
        "application/json": {"schema": schema, "example": example},
        "application/yaml": {"schema": schema, "example": yaml},
    }


_DEFINITION: dict[str, object] = {
    "title": "DefinitionDocument",
    "description": (
        "A workflow: `workflow` with `nodes`, each an `id`, a `type` and a `config`, and `routing` between "
        "them; or `steps`. Every shape that the guide shows is read. Whatever is wrong comes back at once."
    ),
    "type": ["object", "array", "string", "number", "boolean", "null"],
}


def openapi_document(app: FastAPI, version: str) -> dict[str, Any]:
    """Complete, and built once: FastAPI's document, our request shapes, problems and security."""
    document = get_openapi(
        title="Muster",
        version=version,
        openapi_version="3.1.0",
        summary="Event-driven workflows: runs the processes you own and watches the processes you don't.",
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    _, definitions = models_json_schema([(shape, "validation") for shape in _OTHER_SHAPES])
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in _moved(definitions["$defs"]).items():
        schemas.setdefault(name, schema)
    schemas["DefinitionDocument"] = _DEFINITION
    schemas["WatchedDocument"] = {"title": "WatchedDocument", **_without_marks(DOCUMENT)}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "An OpenID access token, or an API token. Without an issuer none is needed.",
        }
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            _without_framework_answers(operation)
    return document


TAGS = {
    "workflows": "Definitions and their numbered versions.",
    "events": "What other systems tell of.",
    "watched workflows": "Graphs of event types with deadlines, and their numbered versions.",
    "wallboard": "How everything stands that is watched, and what was counted.",
    "alerts": "What is late, missing or out of order: looked at, and dealt with.",
    "items": "Where a key is on its way through a watched workflow.",
    "executions": "Runs of workflows: started, looked at, acted on.",
    "triggers": "What starts workflows from outside.",
    "schedules": "What starts workflows by the clock.",
    "waits": "What executions wait for, what came close to it, and callbacks.",
    "commands": "What executions have sent for others to do, and what came back.",
    "messages": "What is published to topics of the bus.",
    "outbox": "Messages on their way to the bus.",
    "streams": "What changes, told as it does.",
    "dead letters": "What could not be brought to its end: to be tried again, or let be.",
    "bulk jobs": "Actions on many at once: they go on when the caller is gone, with a result for every item.",
    "approvals": "What people are asked to decide.",
    "external tasks": "Work for workers elsewhere, which they fetch as from Camunda 7.",
    "deliveries": "Messages to people, and what became of them.",
    "diagrams": "Definitions drawn.",
    "node templates": "Node configs that several nodes share.",
    "node types": "What nodes there are, and the JSON Schema of each one's config.",
    "idempotency": "Keys by which repeats are recognised.",
    "expressions": "The language inside `#{}`.",
    "data sources": "The databases that queries and actions reach.",
    "queries": "SQL that reads, by key.",
    "actions": "SQL that writes, by key.",
    "secrets": "Values that come in and never go out.",
    "tokens": "API tokens for programs.",
    "audit": "Who did what.",
    "instances": "Who is there.",
    "health": "Whether this instance is well.",
}


def _without_framework_answers(operation: dict[str, Any]) -> None:
    answer = operation["responses"].get("422", {})
    if "application/json" in answer.get("content", {}):
        del answer["content"]["application/json"]
        if not answer["content"]:
            del operation["responses"]["422"]


def _without_marks(value: Any) -> Any:
    """Our own marks are for the designer's forms; `key` is in the path where a version follows another."""
    if isinstance(value, dict):
        return {key: _without_marks(inner) for key, inner in value.items() if not key.startswith("x-")}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


def _moved(value: Any) -> Any:
    """Pydantic's references point at `$defs`; OpenAPI keeps schemas under `components`."""
    if isinstance(value, dict):
        return {
            key: inner.replace("#/$defs/", "#/components/schemas/") if key == "$ref" else _moved(inner)
            for key, inner in value.items()
        }
    return [_moved(inner) for inner in value] if isinstance(value, list) else value
