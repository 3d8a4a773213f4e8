"""External tasks: what a worker may do with one, and what comes of it. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias, assert_never

from muster.model.external_task import TaskStatus
from muster.model.json import JsonObject


@dataclass(frozen=True, slots=True)
class ExternalTaskOpening:
    """Work that is offered to workers. `lock` is how long one has it that does not say so itself."""

    id: str
    node: str
    visit: int
    workflow_id: str
    institute_id: str
    topic: str
    priority: int
    variables: JsonObject
    created_at: datetime
    retries: int | None = None
    lock: timedelta | None = None
    expires_at: datetime | None = None


class Held(NamedTuple):
    """A task as it stands while somebody changes it."""

    id: str
    status: TaskStatus
    worker_id: str | None
    lock_until: datetime | None
    retries: int | None
    priority: int
    expires_at: datetime | None
    error_message: str | None = None
    error_details: str | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """`local` is kept with the node, `variables` become part of the context as well."""

    worker: str
    variables: JsonObject
    local: JsonObject


@dataclass(frozen=True, slots=True)
class Fail:
    """Without `retries` it has one less than before; with none left, the node fails."""

    worker: str
    message: str | None
    details: str | None
    retries: int | None
    again_after: timedelta


@dataclass(frozen=True, slots=True)
class BusinessError:
    worker: str
    code: str
    message: str | None
    variables: JsonObject


@dataclass(frozen=True, slots=True)
class Lock:
    """Take this very task."""

    worker: str
    duration: timedelta


@dataclass(frozen=True, slots=True)
class ExtendLock:
    worker: str
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Unlock:
    pass


@dataclass(frozen=True, slots=True)
class SetRetries:
    retries: int


@dataclass(frozen=True, slots=True)
class SetPriority:
    priority: int


Report: TypeAlias = Complete | Fail | BusinessError | Lock | ExtendLock | Unlock | SetRetries | SetPriority


class Refusal(StrEnum):
    """`GONE`: there is no such task that anybody waits for. `NOT_YOURS`: another worker has it, or nobody."""

    GONE = "gone"
    NOT_YOURS = "not_yours"


class Taken(NamedTuple):
    """The task from now on, and what its execution is told; None: nothing yet."""

    task: Held
    answer: JsonObject | None = None


class Refused(NamedTuple):
    reason: Refusal
    message: str


Verdict: TypeAlias = Taken | Refused


def is_open(task: Held, now: datetime) -> bool:
    """Whether anybody waits for it. At its deadline nobody does, even if that has not been noticed yet."""
    return task.status is TaskStatus.OPEN and (task.expires_at is None or task.expires_at > now)


def judge(task: Held, report: Report, now: datetime) -> Verdict:
    """What a report does to the task. Only who holds the lock may end it, and only while the lock lasts: from
    then on another worker may be at it."""
    if not is_open(task, now):
        return Refused(Refusal.GONE, f"External task with id {task.id} does not exist")
    match report:
        case Complete() | Fail() | BusinessError() | ExtendLock():
            return _not_yours(task, report, now) or _reported(task, report, now)
        case Lock():
            if _is_locked(task, now) and task.worker_id != report.worker:
                return Refused(Refusal.NOT_YOURS, _told(task, "locked", report.worker))
            return Taken(task._replace(worker_id=report.worker, lock_until=now + report.duration))
        case Unlock():
            return Taken(task._replace(worker_id=None, lock_until=None))
        case SetRetries():
            if report.retries == 0:
                return _failed(task, task.worker_id, task.error_message)
            return Taken(task._replace(retries=report.retries))
        case SetPriority():
            return Taken(task._replace(priority=report.priority))
        case _:
            assert_never(report)


def _is_locked(task: Held, now: datetime) -> bool:
    return task.worker_id is not None and task.lock_until is not None and task.lock_until > now


_WORDS = {Complete: "completed", Fail: "failed", BusinessError: "reported", ExtendLock: "extended"}


def _not_yours(
    task: Held, report: Complete | Fail | BusinessError | ExtendLock, now: datetime
) -> Refused | None:
    word = _WORDS[type(report)]
    if task.worker_id != report.worker:
        return Refused(Refusal.NOT_YOURS, _told(task, word, report.worker))
    if not _is_locked(task, now):
        late = f"External Task {task.id} cannot be {word} by worker '{report.worker}'. Its lock has expired."
        return Refused(Refusal.NOT_YOURS, late)
    return None


def _told(task: Held, word: str, worker: str) -> str:
    by = f"It is locked by worker '{task.worker_id}'." if task.worker_id else "It is not locked."
    return f"External Task {task.id} cannot be {word} by worker '{worker}'. {by}"


def _reported(task: Held, report: Complete | Fail | BusinessError | ExtendLock, now: datetime) -> Taken:
    match report:
        case Complete(worker, variables, local):
            told: JsonObject = {"outcome": "completed", "workerId": worker, "variables": variables}
            done = task._replace(status=TaskStatus.COMPLETED)
            return Taken(done, {**told, "localVariables": local} if local else told)
        case BusinessError(worker, code, message, variables):
            error: JsonObject = {"code": code, "message": message, "variables": variables}
            over = task._replace(status=TaskStatus.FAILED, error_message=message)
            return Taken(over, {"outcome": "bpmnError", "workerId": worker, **error})
        case Fail():
            noted = task._replace(error_message=report.message, error_details=report.details)
            left = max((task.retries or 0) - 1, 0) if report.retries is None else report.retries
            if left == 0:
                return _failed(noted, report.worker, report.message)
            free = noted._replace(worker_id=None, lock_until=now + report.again_after)
            return Taken(free._replace(retries=left))
        case ExtendLock():
            return Taken(task._replace(lock_until=now + report.duration))
        case _:
            assert_never(report)


def _failed(task: Held, worker: str | None, message: str | None) -> Taken:
    told: JsonObject = {"outcome": "failed", "workerId": worker, "message": message}
    return Taken(task._replace(status=TaskStatus.FAILED, retries=0), told)
