"""APPROVAL: a person decides."""

from collections.abc import Mapping

from muster.definitions.steps.words import shown
from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.openings import ApprovalOpening
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.model.problems import Problem
from muster.nodes.answer_schema import faults_of
from muster.nodes.parts import choice, config, duration, text, texts
from muster.nodes.resolved import BadParameter, deadline_of, text_of, texts_of

_EXAMPLE: JsonObject = {"assignees": ["finance"], "timeout": "PT48H", "onTimeout": "fail"}
_RESULT = frozenset({"decision", "approved", "form", "reason", "decidedBy", "decidedAt"})
LONGEST_NAME = 255


def say(config: JsonView) -> tuple[str, ...]:
    said = [f"Ask {shown(config.get('assignees', 'anyone'))} for a decision."]
    if "timeout" in config:
        said.append(f"After {shown(config['timeout'])} without one: {config.get('onTimeout', 'fail')}.")
    return tuple(said)


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    return _RESULT


def check(config: JsonView) -> tuple[Problem, ...]:
    form = config.get("form")
    if not isinstance(form, dict):
        return ()
    try:
        faults_of(form, {})
    except BadParameter:
        return (Problem("INVALID_VALUE", "/form", "The form should be a JSON Schema."),)
    return ()


TYPE = NodeType(
    name="APPROVAL",
    kind=NodeKind.WAIT,
    category="People",
    title="Approval",
    description="Waits for a person's decision.",
    schema=config(
        {
            "assignees": texts("Who decides", "People or roles; without them, whoever may operate."),
            "title": text("Title"),
            "message": text("Message", "What is to be decided."),
            "form": {"type": "object", "title": "Form", "description": "A JSON Schema of what is asked."},
            "timeout": duration("Timeout"),
            "onTimeout": choice(
                "After the timeout", ["fail", "approve", "reject", "continue"], default="fail"
            ),
        }
    ),
    examples=(_EXAMPLE,),
    sets=sets,
    check=check,
    say=say,
)


def approval(params: JsonObject, call: Call) -> Outcome:
    """Ask, and park; when woken, go on with what was decided, or with what holds when nobody has."""
    if call.woken:
        return _decided(call.answer) if isinstance(call.answer, dict) else _timed_out(params)
    try:
        opening = _opening(params, call)
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))
    waiting: JsonObject = {"approvalId": opening.id, "status": "waiting"}
    return Suspend(
        Phase.WAITING,
        NodeStatus.WAITING_FOR_TASK,
        opening.expires_at,
        waiting,
        opens=(opening,),
        correlation=opening.id,
    )


def _opening(params: JsonObject, call: Call) -> ApprovalOpening:
    form = params.get("form")
    if form is not None:
        if not isinstance(form, dict):
            raise BadParameter("`form` is no JSON Schema")
        faults_of(form, {})
    assignees = texts_of(params.get("assignees"), "assignees")
    if any(len(name) > LONGEST_NAME for name in assignees):
        raise BadParameter(f"`assignees` names somebody with more than {LONGEST_NAME} characters")
    return ApprovalOpening(
        id=call.opening_id(),
        node=call.node_id,
        visit=call.visit,
        workflow_id=call.workflow_id,
        institute_id=call.institute_id,
        assignees=assignees,
        created_at=call.now,
        title=text_of(params.get("title"), "title"),
        message=text_of(params.get("message"), "message"),
        form=form,
        expires_at=deadline_of(params, call.now),
    )


def _decided(answer: JsonObject) -> Done:
    return _done(answer.get("decision"), answer)


def _timed_out(params: JsonObject) -> Done | Failure:
    match params.get("onTimeout", "fail"):
        case "approve" | "reject" as decision:
            return _done(decision, {})
        case "continue":
            return _done(None, {})
        case _:
            return Failure("Timeout", f"nobody has decided within {params.get('timeout')}")


def _done(decision: Json, answer: JsonObject) -> Done:
    result: JsonObject = {
        "decision": decision,
        "approved": decision == "approve",
        **{name: answer.get(name) for name in ("form", "reason", "decidedBy", "decidedAt")},
    }
    warnings = () if answer else ("Nobody has decided in time.",)
    return Done(result, result, warnings)
