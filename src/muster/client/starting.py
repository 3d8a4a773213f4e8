"""Calls that start executions, and that tell them what they wait for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from muster.client.requests import JSON, Call, Request, below, encoded, given, post, said
from muster.client.shapes import Fired, NotStarted, Published, Received, Started
from muster.client.signing import signed

EXECUTE = "/api/workflow/execute"
TRIGGER = "/api/workflow/trigger"
CALLBACK = "/api/internal/callbacks/external-service"
_DUPLICATE = "DUPLICATE"


def execute(
    workflow: str,
    context: Mapping[str, Any] | None = None,
    *,
    version: int | None = None,
    tags: Sequence[str] = (),
    idempotency_key: str | None = None,
    wait: float | None = None,
) -> Call[Started]:
    """Start a workflow, by its id or key; with `wait`, answer its result if it ends within so many seconds
    (60 at most). Without an `idempotency_key` it gets one of its own, so that it is started once however
    often the request has to be repeated."""
    body = said(workflowId=workflow, context=dict(context or {}), version=version, tags=list(tags) or None)
    return post(
        EXECUTE,
        body,
        partial(_started, own_key=idempotency_key is None),
        headers={"Idempotency-Key": idempotency_key or new_id()},
        params=given(wait=wait),
        repeatable=True,
        patience=wait or 0.0,
    )


def execute_many(
    starts: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None
) -> Call[list[Started | NotStarted]]:
    """Start up to 1,000, each as `POST /api/workflow/execute` takes it; what came of each, in their order."""
    headers = {"Idempotency-Key": idempotency_key or new_id()}
    read = partial(_started_many, own_key=idempotency_key is None)
    return post(f"{EXECUTE}/batch", [dict(each) for each in starts], read, headers=headers, repeatable=True)


def fire_event(
    name: str,
    context: Mapping[str, Any] | None = None,
    *,
    event_id: str | None = None,
    repeatable: bool = False,
    wait: float | None = None,
) -> Call[list[Fired]]:
    """Fire every trigger of an event; what came of each. `repeatable`: those triggers know a repeat by its
    key (`EVENT_BASED`, say), so that it may be sent again where an answer was lost."""
    body = said(eventName=name, eventId=event_id, context=dict(context or {}))
    params = given(wait=wait)
    return post(TRIGGER, body, _fired_many, params=params, repeatable=repeatable, patience=wait or 0.0)


def fire_trigger(
    trigger_id: str,
    context: Mapping[str, Any] | None = None,
    *,
    event_id: str | None = None,
    secret: str | None = None,
    message_id: str | None = None,
    repeatable: bool = False,
    wait: float | None = None,
) -> Call[Fired]:
    """Fire one trigger by its id. With its `secret` it is signed: such a message starts one execution at
    most, and so may be repeated."""
    body = said(triggerId=trigger_id, eventId=event_id, context=dict(context or {}))
    return _fire(TRIGGER, encoded(body), secret, message_id, repeatable, wait)


def fire_path(
    path: str,
    body: object = None,
    *,
    secret: str | None = None,
    message_id: str | None = None,
    repeatable: bool = False,
    wait: float | None = None,
) -> Call[Fired]:
    """Fire the webhook of a path with any JSON. With its `secret` it is signed, as `fire_trigger` says."""
    place = f"{TRIGGER}/{quote(path.strip('/'))}"
    return _fire(place, b"" if body is None else encoded(body), secret, message_id, repeatable, wait)


def call_back(
    execution_id: str,
    correlation_id: str,
    data: object = None,
    *,
    event: str | None = None,
    secret: str | None = None,
) -> Call[Received]:
    """Tell a wait what it waits for: of two that are alike the first one counts, so it may be repeated. With
    the installation's callback `secret` it is signed."""
    content = encoded({} if data is None else data)
    ids = {"X-Correlation-Id": correlation_id, "X-Execution-Id": execution_id}
    headers = {"Content-Type": JSON, **ids, **({"X-Event-Name": event} if event else {})}
    if secret is not None:
        headers |= signed(secret, new_id(), datetime.now(UTC), content)
    request = Request("POST", CALLBACK, {}, headers, content, repeatable=True)
    return Call(request, Received.model_validate)


def publish(
    topic: str, value: object, *, key: str | None = None, headers: Mapping[str, str] | None = None
) -> Call[Published]:
    """Put a message on the bus. It is not repeated where it may have arrived: readers would see it twice."""
    body = {**said(key=key, headers=dict(headers or {})), "value": value}
    return post(below("/api/messages", topic), body, Published.model_validate)


def new_id() -> str:
    return uuid4().hex


def _fire(
    path: str,
    content: bytes,
    secret: str | None,
    message_id: str | None,
    repeatable: bool,
    wait: float | None,
) -> Call[Fired]:
    headers = {"Content-Type": JSON} if content else {}
    if secret is not None:
        headers |= signed(secret, message_id or new_id(), datetime.now(UTC), content)
    elif message_id is not None:
        headers["webhook-id"] = message_id
    once = repeatable or secret is not None
    request = Request("POST", path, given(wait=wait), headers, content, once, wait or 0.0)
    return Call(request, partial(_fired, own_message=secret is not None and message_id is None))


def _started(answer: Any, own_key: bool) -> Started:
    """A duplicate under a key that nobody else has is our own start, whose answer was lost."""
    if answer.get("reason") != _DUPLICATE:
        return Started.model_validate(answer)
    first = answer.get("result") or {"status": "RUNNING" if own_key else answer["status"]}
    return Started.model_validate({**first, "executionId": answer["executionId"], "duplicate": not own_key})


def _started_many(answer: Any, own_key: bool) -> list[Started | NotStarted]:
    return [
        NotStarted.model_validate(each["error"]) if "executionId" not in each else _started(each, own_key)
        for each in answer["results"]
    ]


def _fired(answer: Any, own_message: bool = False) -> Fired:
    if "status" not in answer:
        return Fired(trigger_id=answer.get("triggerId"), refused=NotStarted.model_validate(answer["error"]))
    if own_message and answer.get("reason") == _DUPLICATE:
        return Fired(status="PROCESSING", execution_id=answer.get("executionId"))
    return Fired.model_validate(answer)


def _fired_many(answer: Any) -> list[Fired]:
    return [_fired(each) for each in answer.get("results", [answer])]
