"""Calls about what is there: executions, workflows, schedules, waits, dead letters, alerts."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from muster.client.requests import (
    JSON,
    Call,
    Listing,
    Request,
    below,
    encoded,
    get,
    given,
    nothing,
    post,
    said,
)
from muster.client.shapes import (
    Alert,
    DeadLetter,
    Execution,
    ExecutionRow,
    Saved,
    Schedule,
    Started,
    Verdict,
    Visit,
    Wait,
    Workflow,
    WorkflowRow,
)

EXECUTIONS = "/api/workflow/executions"
WORKFLOWS = "/api/workflow"
SCHEDULES = "/api/workflow/schedule"
LETTERS = "/api/dead-letters"
ALERTS = "/alerts"
FIRST_LOOK, LAST_LOOK = 0.05, 2.0


# --- executions --------------------------------------------------------------------------------------------


def execution(id: str) -> Call[Execution]:
    """An execution with its context, its nodes and what it waits for."""
    return get(below(EXECUTIONS, id), Execution.model_validate)


def executions(
    *,
    status: str | None = None,
    workflow: str | None = None,
    trigger: str | None = None,
    idempotency_key: str | None = None,
    tag: str | None = None,
    started_from: datetime | None = None,
    started_to: datetime | None = None,
    query: str | None = None,
) -> Listing[ExecutionRow]:
    """Executions, newest first."""
    params = given(status=status, workflow=workflow, trigger=trigger, tag=tag, q=query)
    params |= given(idempotencyKey=idempotency_key, from_=started_from, to=started_to)
    return Listing(EXECUTIONS, params, ExecutionRow.model_validate)


def visits(id: str) -> Listing[Visit]:
    """An execution's whole journal."""
    return Listing(below(EXECUTIONS, id, "nodes"), {}, Visit.model_validate)


def pause(id: str, *, reason: str = "") -> Call[Execution]:
    """Let nothing new begin in it."""
    return _act(id, "pause", reason=reason)


def resume(id: str, *, reason: str = "") -> Call[Execution]:
    """Let it go on after a pause."""
    return _act(id, "resume", reason=reason)


def cancel(id: str, *, reason: str = "", compensate: bool = False) -> Call[Execution]:
    """End it; with `compensate`, undo what was done where nodes say how."""
    return _act(id, "cancel", reason=reason, compensate=compensate or None)


def retry(
    id: str,
    *,
    reason: str = "",
    from_node: str | None = None,
    context: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> Call[Execution]:
    """Try it again from where it failed, or from an earlier node, with changes to its context."""
    return _act(id, "retry", reason=reason, from_=from_node, context=context, version=version)


def _act(id: str, action: str, **fields: object) -> Call[Execution]:
    return post(below(EXECUTIONS, id, action), said(**fields), Execution.model_validate)


def looks() -> Iterator[float]:
    """The pauses between looks at something that has not ended: soon at first, then less often."""
    pause = FIRST_LOOK
    while True:
        yield pause
        pause = min(pause * 1.5, LAST_LOOK)


# --- workflows ---------------------------------------------------------------------------------------------


def create_workflow(definition: Mapping[str, Any] | str) -> Call[Saved]:
    """Save a new workflow: an object, or text that is JSON or YAML."""
    return Call(_definition("POST", WORKFLOWS, definition), Saved.model_validate)


def update_workflow(
    id: str, definition: Mapping[str, Any] | str, *, activate: bool = False, if_version: int | None = None
) -> Call[Saved]:
    """Save a further version; with `if_version` only if that is still the newest (else `StaleVersion`)."""
    headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
    params = given(activate=activate or None)
    return Call(
        _definition("PUT", below(WORKFLOWS, id), definition, headers=headers, params=params),
        Saved.model_validate,
    )


def activate_workflow(id: str, *, version: int | None = None) -> Call[WorkflowRow]:
    """Let new executions start on a version; without one, on the newest."""
    return post(below(WORKFLOWS, id, "activate"), said(version=version), WorkflowRow.model_validate)


def archive_workflow(id: str) -> Call[None]:
    """Let it start nothing more."""
    return Call(Request("DELETE", below(WORKFLOWS, id), repeatable=False), nothing)


def workflow(id: str) -> Call[Workflow]:
    """A workflow, by its id or key, with its newest definition."""
    return get(below(WORKFLOWS, id), Workflow.model_validate)


def workflows(*, status: str | None = None, query: str | None = None) -> Listing[WorkflowRow]:
    """Workflows, newest first."""
    return Listing(WORKFLOWS, given(status=status, q=query), WorkflowRow.model_validate)


def validate(definition: Mapping[str, Any] | str) -> Call[Verdict]:
    """Everything that is wrong with a definition; nothing is saved."""
    request = _definition("POST", f"{WORKFLOWS}/validate", definition, repeatable=True)
    return Call(request, Verdict.model_validate)


def _definition(
    method: str,
    path: str,
    definition: Mapping[str, Any] | str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    repeatable: bool = False,
) -> Request:
    # JSON is YAML, too.
    media, content = (
        ("application/yaml", definition.encode())
        if isinstance(definition, str)
        else (JSON, encoded(definition))
    )
    return Request(
        method, path, params or {}, {"Content-Type": media, **(headers or {})}, content, repeatable
    )


# --- schedules, waits, dead letters, alerts ----------------------------------------------------------------


def schedules(*, workflow: str | None = None, status: str | None = None) -> Listing[Schedule]:
    return Listing(SCHEDULES, given(workflow=workflow, status=status), Schedule.model_validate)


def run_schedule(id: str, *, reason: str = "") -> Call[Started]:
    """Start a schedule's workflow now, whatever its times are."""
    return post(below(SCHEDULES, id, "run"), {"reason": reason}, Started.model_validate)


def waits(*, status: str | None = None, execution: str | None = None) -> Listing[Wait]:
    """Waits for events, newest first."""
    return Listing("/api/waits", given(status=status, execution=execution), Wait.model_validate)


def dead_letters(
    *, kind: str | None = None, status: str | None = None, source: str | None = None
) -> Listing[DeadLetter]:
    """What could not be brought to its end, newest first."""
    return Listing(LETTERS, given(kind=kind, status=status, source=source), DeadLetter.model_validate)


def redrive(
    id: int,
    *,
    reason: str = "",
    from_node: str | None = None,
    context: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> Call[DeadLetter]:
    """Try again what a dead letter is about."""
    body = said(reason=reason, from_=from_node, context=context, version=version)
    return post(below(LETTERS, id, "redrive"), body, DeadLetter.model_validate)


def dismiss(id: int, *, reason: str = "") -> Call[DeadLetter]:
    """Let a dead letter be."""
    return post(below(LETTERS, id, "dismiss"), {"reason": reason}, DeadLetter.model_validate)


def alerts(
    *,
    state: str | None = None,
    severity: str | None = None,
    workflow: str | None = None,
    query: str | None = None,
) -> Listing[Alert]:
    """What is late, missing or out of order, newest first."""
    params = given(state=state, severity=severity, workflow=workflow, q=query)
    return Listing(ALERTS, params, Alert.model_validate)


def acknowledge(id: int, *, reason: str = "") -> Call[Alert]:
    """Say that somebody looks after an alert."""
    return post(below(ALERTS, id, "ack"), {"reason": reason}, Alert.model_validate)


def resolve(id: int, *, reason: str = "") -> Call[Alert]:
    """Say that an alert is dealt with."""
    return post(below(ALERTS, id, "resolve"), {"reason": reason}, Alert.model_validate)
