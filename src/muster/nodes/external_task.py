"""EXTERNAL_TASK: work that a worker elsewhere fetches and completes."""

import re
from collections.abc import Mapping
from datetime import timedelta

from muster.definitions.durations import parse_duration
from muster.definitions.steps.words import shown
from muster.engine.external_tasks import ExternalTaskOpening
from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.nodes.parts import config, duration, fields, text, whole
from muster.nodes.resolved import BadParameter, deadline_of, object_of, text_of

LONGEST_TOPIC = 255
DEFAULT_RETRIES = 3
_EXAMPLE: JsonObject = {"topic": "charge-card", "variables": {"amount": "#{total}"}, "lockDuration": "1m"}


def say(config: JsonView) -> tuple[str, ...]:
    return (f"Wait for a worker to do {shown(config.get('topic'))}.",)


TYPE = NodeType(
    name="EXTERNAL_TASK",
    kind=NodeKind.WAIT,
    category="Integration",
    title="External task",
    description="Offers work to workers elsewhere and waits for one to complete it.",
    schema=config(
        {
            "topic": text(
                "Topic", "What workers ask for.", "charge-card", minLength=1, maxLength=LONGEST_TOPIC
            ),
            "variables": fields("Variables", "What the worker is given."),
            "priority": whole("Priority", "Higher is fetched first.", default=0),
            "lockDuration": duration("Lock", "How long a worker has before it is offered again."),
            "retries": whole(
                "Retries",
                "How many attempts workers have, unless they say so themselves.",
                minimum=0,
                maximum=1000,
                default=DEFAULT_RETRIES,
            ),
            "timeout": duration("Timeout"),
        },
        "topic",
    ),
    examples=(_EXAMPLE,),
    say=say,
)


def external_task(params: JsonObject, call: Call) -> Outcome:
    """Offer the work, and park; when woken, go on with what a worker says, or fail because none did."""
    if call.woken:
        return _answered(call.answer) if isinstance(call.answer, dict) else _timed_out(params)
    try:
        opening = _opening(params, call)
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))
    waiting: JsonObject = {"taskId": opening.id, "topic": opening.topic, "status": "waiting"}
    return Suspend(
        Phase.WAITING,
        NodeStatus.WAITING_FOR_TASK,
        opening.expires_at,
        waiting,
        opens=(opening,),
        correlation=opening.id,
    )


def _opening(params: JsonObject, call: Call) -> ExternalTaskOpening:
    topic = text_of(params.get("topic"), "topic")
    if not topic or len(topic) > LONGEST_TOPIC:
        raise BadParameter(f"`topic` should be a text of 1 to {LONGEST_TOPIC} characters")
    return ExternalTaskOpening(
        id=call.opening_id(),
        node=call.node_id,
        visit=call.visit,
        workflow_id=call.workflow_id,
        institute_id=call.institute_id,
        topic=topic,
        priority=_whole(params, "priority", 0, -(2**63), 2**63 - 1),
        variables=dict(object_of(params.get("variables"), "variables")),
        created_at=call.now,
        retries=_whole(params, "retries", DEFAULT_RETRIES, 0, 1000),
        lock=_lock(params),
        expires_at=deadline_of(params, call.now),
    )


def _whole(params: JsonView, name: str, default: int, least: int, most: int) -> int:
    given = params.get(name)
    if given is None:
        return default
    found = int(given) if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,18}", given) else given
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
        raise BadParameter(f"`{name}` should be a whole number from {least} to {most}")
    return found


def _lock(params: JsonView) -> timedelta | None:
    given = params.get("lockDuration")
    if given is None:
        return None
    try:
        return parse_duration(given)
    except ValueError as error:
        raise BadParameter(f"`lockDuration`: {error}") from None


def _answered(answer: Mapping[str, Json]) -> Done | Failure:
    variables = answer.get("variables")
    given = variables if isinstance(variables, dict) else {}
    message = answer.get("message")
    match answer.get("outcome"):
        case "completed":
            local = answer.get("localVariables")
            return Done({**given, **(local if isinstance(local, dict) else {})}, given)
        case "bpmnError":
            code = str(answer.get("code"))
            return Failure(code, str(message or f"a worker has reported {code}"), details=given)
        case _:
            by = answer.get("workerId")
            return Failure("ExternalTaskFailed", str(message or f"the worker {by} could not do it"))


def _timed_out(params: JsonView) -> Failure:
    return Failure("Timeout", f"no worker has completed it within {params.get('timeout')}")
