"""External tasks, as workers see them: what they are given, what they answer, and the calls for it."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

from muster.client.requests import Call, below, nothing, post, said

BASE = "/engine-rest/external-task"
LONGEST_MESSAGE = 2_000


@dataclass(frozen=True, slots=True)
class Task:
    """Work that was offered under a topic, and is this worker's until its lock ends. `lost` is set when it is
    no longer ours: what is said of it then does not count."""

    id: str
    topic: str
    variables: Mapping[str, Any]
    retries: int | None
    priority: int
    execution_id: str
    node_id: str
    workflow_key: str
    business_key: str | None
    lost: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Complete:
    """It is done; `variables` are merged into the execution's context, `local` stay with the node."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    local: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """It could not be done. With `retries` left (one less than before, if it is not said) it is offered
    again after so many seconds; with 0, its node has failed."""

    message: str
    details: str | None = None
    retries: int | None = None
    retry_after: float = 0.0


class BusinessError(Exception):
    """Raised by a handler: the node fails with `code` as the error's type, whatever retries there are."""

    def __init__(self, code: str, message: str = "", variables: Mapping[str, Any] | None = None) -> None:
        super().__init__(message or code)
        self.code = code
        self.message = message
        self.variables = dict(variables or {})


Report: TypeAlias = Complete | Failure | BusinessError
Result: TypeAlias = Mapping[str, Any] | Complete | Failure | None


def reported(result: Result) -> Complete | Failure:
    """What a handler returns, as what is reported: variables, or nothing, are a completion."""
    match result:
        case Complete() | Failure():
            return result
        case None:
            return Complete()
        case _:
            return Complete(result)


def failed(error: BaseException, retry_after: float) -> Report:
    """What a handler raises, as what is reported. Its words alone: a stack trace is the worker's own."""
    if isinstance(error, BusinessError):
        return error
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(message[:LONGEST_MESSAGE], retry_after=retry_after)


def fetch(worker: str, topics: Sequence[str], most: int, *, lock: float, poll: float) -> Call[list[Task]]:
    """Ask for tasks, and have each for `lock` seconds; where there are none, wait for `poll` seconds."""
    body = {
        "workerId": worker,
        "maxTasks": most,
        "usePriority": True,
        "asyncResponseTimeout": _ms(poll),
        "topics": [{"topicName": each, "lockDuration": _ms(lock)} for each in topics],
    }
    # What is locked for an answer that got lost is offered again when its lock is over.
    return post(f"{BASE}/fetchAndLock", body, _tasks, repeatable=True, patience=poll)


def report(worker: str, task: Task, result: Report) -> Call[None]:
    """Say what came of a task. An answer counts once, so it may be repeated: the second is a 404."""
    match result:
        case Complete():
            body = {"variables": _typed(result.variables), "localVariables": _typed(result.local)}
            return _say(worker, task, "complete", body)
        case Failure():
            left = said(errorDetails=result.details, retries=result.retries)
            after = _ms(result.retry_after)
            return _say(
                worker, task, "failure", {"errorMessage": result.message, "retryTimeout": after, **left}
            )
        case BusinessError():
            told = {"errorMessage": result.message, "variables": _typed(result.variables)}
            return _say(worker, task, "bpmnError", {"errorCode": result.code, **told})
        case _:
            assert_never(result)


def extend(worker: str, task: Task, lock: float) -> Call[None]:
    """Have it for `lock` seconds from now."""
    return _say(worker, task, "extendLock", {"newDuration": _ms(lock)})


def give_back(worker: str, task: Task) -> Call[None]:
    """Let others have it at once."""
    return _say(worker, task, "unlock", {})


def _say(worker: str, task: Task, what: str, body: Mapping[str, object]) -> Call[None]:
    place = below(BASE, task.id, what)
    return post(place, {"workerId": worker, **body}, nothing, repeatable=True)


def _tasks(answer: Any) -> list[Task]:
    return [
        Task(
            id=each["id"],
            topic=each["topicName"],
            variables={name: _plain(value) for name, value in (each.get("variables") or {}).items()},
            retries=each.get("retries"),
            priority=each.get("priority") or 0,
            execution_id=each["processInstanceId"],
            node_id=each["activityId"],
            workflow_key=each["processDefinitionKey"],
            business_key=each.get("businessKey"),
        )
        for each in answer
    ]


def _plain(typed: Mapping[str, Any]) -> Any:
    """A variable's value; documents travel as text."""
    value = typed.get("value")
    return json.loads(value) if typed.get("type") in ("Json", "Object") and isinstance(value, str) else value


def _typed(variables: Mapping[str, Any]) -> dict[str, object]:
    """Without a type a value is taken as the JSON that it is."""
    return {name: {"value": value} for name, value in variables.items()}


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
