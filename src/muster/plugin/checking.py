"""Looking at what a plug-in's function has answered: it is its author's word, and outlives the process."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from math import isfinite

from muster.engine.handlers import Done, Suspend
from muster.engine.state import Failure, Phase
from muster.model.execution import WAITS, NodeStatus
from muster.model.text import is_suitable

DEEPEST = 64
LONGEST_NAME = 255
PLAIN = frozenset((int, bool, type(None)))
UNSUITABLE = "holds text that cannot be kept: NUL, or half a character"
# What the journal has of a parked visit is its status: from that it is taken up again.
PARKS = {Phase.PAUSED: frozenset({NodeStatus.PAUSED}), Phase.WAITING: WAITS}


def bad_result(told: str) -> Failure:
    return Failure("BadResult", told)


def checked_done(done: Done) -> Done | Failure:
    changes: object = done.changes
    if fault := json_fault(done.output) or (None if changes is done.output else json_fault(changes)):
        return bad_result(f"what it answered {fault}")
    if not isinstance(changes, dict):
        return bad_result("`changes` of `Done` should be an object")
    warnings: object = done.warnings
    if not isinstance(warnings, tuple) or not all(map(_is_text, warnings)):
        return bad_result("`warnings` of `Done` should be a tuple of texts")
    return bad_result("a plug-in cannot open anything: `opens` of `Done`") if done.opens else done


def checked_failure(failure: Failure) -> Failure:
    if not _is_name(failure.type) or not _is_text(failure.message):
        return bad_result("`type` of `Failure` should be a short text, and `message` a text")
    after: object = failure.retry_after
    if after is not None and not (isinstance(after, int | float) and isfinite(after)):
        return bad_result("`retry_after` of `Failure` should be a number of seconds")
    return replace(failure, retryable=bool(failure.retryable), unsure=bool(failure.unsure))


def checked_suspend(suspend: Suspend) -> Suspend | Failure:
    """One that the engine can take up again, with its names as the engine knows them."""
    parked = next((phase for phase in PARKS if phase == suspend.phase), None)
    if parked is None:
        return bad_result("`phase` of `Suspend` should be `Phase.PAUSED` or `Phase.WAITING`")
    status = next((each for each in PARKS[parked] if each == suspend.status), None)
    if status is None:
        named = ", ".join(f"`{each}`" for each in sorted(PARKS[parked]))
        return bad_result(f"`status` of `Suspend` should be one of {named}: its phase is `{parked}`")
    if fault := _fault_of(suspend, parked):
        return bad_result(fault)
    return replace(suspend, phase=parked, status=status)


def _fault_of(suspend: Suspend, parked: Phase) -> str | None:
    due: object = suspend.due
    error: object = suspend.error
    if due is not None and (not isinstance(due, datetime) or due.tzinfo is None):
        return "`due` of `Suspend` should be a time with its zone, such as `call.now + …`"
    if due is None and parked is Phase.PAUSED:
        return "`due` of `Suspend` is missing: nothing else would wake a node that is paused"
    if error is not None and not isinstance(error, dict):
        return "`error` of `Suspend` should be an object"
    for value in (suspend.output, error):
        if fault := json_fault(value):
            return f"what it answered {fault}"
    if suspend.correlation and not _is_name(suspend.correlation):
        return "`correlation` of `Suspend` should be a short text"
    return "a plug-in cannot open anything: `opens` of `Suspend`" if suspend.opens else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_suitable(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and is_suitable(value)


def json_fault(value: object, depth: int = 0) -> str | None:
    """Why a value could not be kept as JSON; None: it could. What it holds is not repeated."""
    if depth > DEEPEST:
        return f"is nested deeper than {DEEPEST}"
    if type(value) in PLAIN or isinstance(value, int):
        return None
    if isinstance(value, str):
        return None if is_suitable(value) else UNSUITABLE
    if isinstance(value, float):
        return None if isfinite(value) else "holds a number that is not finite"
    if isinstance(value, list):
        return _first_fault(value, depth + 1)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                return "holds an object with a key that is no text"
            if not is_suitable(key):
                return UNSUITABLE
        return _first_fault(value.values(), depth + 1)
    return f"holds a {type(value).__name__}, which is not JSON"


def _first_fault(values: Iterable[object], depth: int) -> str | None:
    for value in values:
        if (fault := json_fault(value, depth)) is not None:
            return fault
    return None
