"""What people do to executions by hand. Every action may give a reason, and every one is audited."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_shapes import Cancel, ExecutionWhole, Reason, Resume, Retry, Started
from muster.api.guard import Operator
from muster.api.parts import Given, Parts
from muster.api.problems import Code, clash, wrong
from muster.api.reading import read_optional_body
from muster.api.routes.executions import Id, whole_shown
from muster.api.shapes import Shape
from muster.api.strict import StrictRoute
from muster.engine.actions import By, NoSuchNode, Verdict
from muster.engine.actions import Retry as RetryHow
from muster.model.access import Caller, Role

router = APIRouter(route_class=StrictRoute, tags=["executions"])
Route = TypeVar("Route", bound=Callable[..., object])

_PROBLEMS = (
    Code.NOT_FOUND,
    Code.INVALID_BODY,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.CONFLICT,
    Code.UNAVAILABLE,
    Code.OUTCOME_UNKNOWN,
)


def _action(
    name: str,
    summary: str,
    reason: str,
    body: type[Reason] | type[Resume] | type[Cancel] | type[Retry] = Reason,
    shape: type[Shape] = ExecutionWhole,
    status: int = 200,
) -> Callable[[Route], Route]:
    """A route that does `name` to an execution; `reason` is an example of why."""
    return router.post(
        f"/api/workflow/executions/{{id}}/{name}",
        summary=summary,
        **described(
            shape,
            *_PROBLEMS,
            role=Role.OPERATOR,
            status=status,
            body=json_body(body, {"reason": reason}),
            body_optional=True,
        ),
    )


@_action("pause", "Let nothing new begin in it", "maintenance")
async def pause(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    await parts.actions.pause(id, By(caller, body.reason))
    return await _shown(parts, id, caller)


@_action("resume", "Let it go on, or say what becomes of a node in doubt", "done", Resume)
async def resume(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Resume, parts.body_limit)
    verdict = _verdict(body)
    by = By(caller, body.reason)
    await (parts.actions.decide(id, by, verdict) if verdict else parts.actions.resume(id, by))
    return await _shown(parts, id, caller)


def _verdict(body: Resume) -> Verdict | None:
    """What is said of a node in doubt; None: nothing is. Raises `Refused`."""
    said = body.model_fields_set - {"reason"}
    if not said:
        return None
    if body.node is None or body.outcome is None:
        raise wrong("", "`node` and `outcome` are given together, or neither is.")
    if body.outcome == "redo" and "output" in said:
        raise wrong("/output", "What is done again comes to its own `output`.")
    return Verdict(body.node, body.outcome == "redo", body.visit, body.output)


@_action("cancel", "End it", "no longer needed", Cancel)
async def cancel(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Cancel, parts.body_limit)
    await parts.actions.cancel(id, By(caller, body.reason), body.compensate)
    return await _shown(parts, id, caller)


@_action("retry", "Try it again, from where it failed or an earlier node", "the server is back", Retry)
async def retry(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Retry, parts.body_limit)
    if body.from_ is not None and body.node not in (None, body.from_):
        raise wrong("/node", "`node` and `from` say the same: give one of them.")
    how = RetryHow(body.from_ or body.node, body.context, body.version)
    try:
        await parts.actions.retry(id, By(caller, body.reason), how)
    except NoSuchNode as error:
        raise clash(Code.CONFLICT, "/from" if body.from_ else "/node", f"{error}.") from None
    return await _shown(parts, id, caller)


@_action("replay", "Start anew with what it was started with", "once more", shape=Started, status=202)
async def replay(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    begun = await parts.actions.replay(id, By(caller, body.reason))
    return answer(Started(execution_id=begun.id, status=begun.status), 202)


async def _shown(parts: Parts, execution_id: str, caller: Caller) -> Response:
    return answer(await whole_shown(parts, await parts.control.get(execution_id, caller)))
