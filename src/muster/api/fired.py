"""What came of firing triggers, as callers are told; with `?wait=`, once the executions have ended."""

import asyncio
from collections.abc import Mapping

import orjson
from fastapi import Response
from pydantic import BaseModel

from muster.api.answers import JsonAnswer, answer
from muster.api.execution_answers import outcome_of
from muster.api.parts import Parts
from muster.api.rejections import check_written, rejected
from muster.api.trigger_shapes import FiredAndEnded
from muster.engine.state import FINAL
from muster.engine.triggering import Decision, Fired
from muster.model.access import Caller, How
from muster.model.json import JsonObject

PROCESSING, SKIPPED = "PROCESSING", "SKIPPED"


async def decided(decision: Decision, parts: Parts, institute_id: str | None, wait: float | None) -> Response:
    """One decision. 202: an execution was started, and goes on."""
    if wait is not None and isinstance(decision, Fired):
        ended = await _ended(decision, parts, institute_id, wait)
        if ended is not None:
            return answer(ended)
    return _json(_told(decision), 202 if isinstance(decision, Fired) else 200)


async def decided_several(
    decisions: Mapping[str, Decision | BaseException],
    parts: Parts,
    institute_id: str | None,
    wait: float | None,
) -> Response:
    """Several decisions, by their triggers. 202: at least one execution was started."""
    came = list(decisions.values())
    check_written(came)
    told = await asyncio.gather(*(_result(each, parts, institute_id, wait) for each in came))
    results = [{"triggerId": id, **each} for id, each in zip(decisions, told, strict=True)]
    return _json({"results": results}, 202 if any(isinstance(each, Fired) for each in came) else 200)


async def _result(
    decision: Decision | BaseException, parts: Parts, institute_id: str | None, wait: float | None
) -> JsonObject:
    if isinstance(decision, BaseException):
        return _dumped(rejected(decision, parts))
    if wait is not None and isinstance(decision, Fired):
        ended = await _ended(decision, parts, institute_id, wait)
        if ended is not None:
            return _dumped(ended)
    return _told(decision)


async def _ended(fired: Fired, parts: Parts, institute_id: str | None, wait: float) -> FiredAndEnded | None:
    """What came of the execution; None: it has not ended in time."""
    whoever = Caller("trigger", frozenset(), institute_id, How.TOKEN)
    came = await parts.control.wait(fired.execution_id, whoever, wait)
    if came.status not in FINAL:
        return None
    ended = outcome_of(fired.execution_id, came)
    return FiredAndEnded(**dict(ended), idempotency_key=fired.key)


def _told(decision: Decision) -> JsonObject:
    if isinstance(decision, Fired):
        key = decision.key
        return {"executionId": decision.execution_id, "status": PROCESSING, "idempotencyKey": key}
    told: JsonObject = {"status": SKIPPED, "reason": decision.reason.value}
    return told if decision.execution_id is None else told | {"executionId": decision.execution_id}


def _dumped(shape: BaseModel) -> JsonObject:
    found: JsonObject = shape.model_dump(mode="json", by_alias=True)
    return found


def _json(body: Mapping[str, object], status: int) -> Response:
    return JsonAnswer(orjson.dumps(body), status)
