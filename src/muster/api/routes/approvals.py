"""Approvals: what people are asked, and their decisions."""

from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.approval_shapes import ApprovalItem, ApprovalPage, Decide
from muster.api.describe import described, json_body
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given, Parts
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_body
from muster.api.strict import StrictRoute
from muster.definitions.library import NotFound
from muster.definitions.pointers import child
from muster.model.access import Caller, Role
from muster.model.approval import Approval, ApprovalStatus, Decision
from muster.model.problems import Problem
from muster.nodes.approving import BadForm, NotAssigned, NotOpen

router = APIRouter(route_class=StrictRoute, tags=["approvals"])

Id = Annotated[str, Path(description="An approval's id.")]
_EXAMPLE = {"decision": "approve", "form": {"amount": 100}, "reason": "within the budget"}


@router.get(
    "/api/approvals",
    summary="List what people are asked to decide",
    **described(
        ApprovalPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first.",
    ),
)
async def list_approvals(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    status: Annotated[ApprovalStatus | None, Query()] = None,
    assignee: Annotated[
        str | None, Query(max_length=255, description="Those that name this person or role.")
    ] = None,
    execution: Annotated[str | None, Query(max_length=36, description="An execution's id.")] = None,
) -> Response:
    found, following = await parts.approving.list(caller, listed, status, assignee, execution)
    return answer(ApprovalPage(items=[_item(each) for each in found], next_cursor=following))


@router.get(
    "/api/approvals/{id}",
    summary="Read an approval",
    **described(ApprovalItem, Code.NOT_FOUND, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_approval(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(_item(await _found(parts, id, caller)))


@router.post(
    "/api/approvals/{id}/decide",
    summary="Decide",
    **described(
        ApprovalItem,
        Code.NOT_FOUND,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.CONFLICT,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.OPERATOR,
        body=json_body(Decide, _EXAMPLE),
        notes="Once, and in time. Where somebody is named, only they may, or an administrator (else 403).",
    ),
)
async def decide(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_body(request, Decide, parts.body_limit)
    decision = _decision(body)
    asked = await _found(parts, id, caller)
    try:
        decided = await parts.approving.decide(asked, decision, body.form, body.reason, caller)
    except NotOpen as error:
        raise Refused(Code.CONFLICT, f"{error}.") from None
    except NotAssigned as error:
        raise Refused(Code.FORBIDDEN, f"{error}.") from None
    except BadForm as error:
        problems = [_in_form(problem) for problem in error.problems]
        raise Refused(Code.INVALID_BODY, "The form is not as it was asked for.", problems=problems) from None
    return answer(_item(decided))


def _decision(body: Decide) -> Decision:
    if body.decision is None and body.approved is None:
        raise wrong("/decision", "There should be a `decision`: `approve` or `reject`.", "MISSING")
    if body.approved is None:
        return Decision(body.decision or "")
    said = Decision.APPROVE if body.approved else Decision.REJECT
    if body.decision not in (None, said.value):
        raise wrong("/approved", "`decision` and `approved` say different things.")
    return said


def _in_form(problem: Problem) -> Problem:
    return replace(problem, pointer=child("", "form") + problem.pointer)


async def _found(parts: Parts, approval_id: str, caller: Caller) -> Approval:
    found = await parts.approving.get(approval_id, caller)
    if found is None:
        raise NotFound(f"There is no approval {approval_id[:200]!r}")
    return found


def _item(found: Approval) -> ApprovalItem:
    return ApprovalItem.model_validate(asdict(found))
