"""Bulk actions: jobs that go on when whoever asked is gone, with a result for every item."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, assert_never

from muster.definitions.library import NotFound
from muster.engine.actions import Actions, By, JobItem, Overtaken, Retry
from muster.engine.control import Conflict
from muster.engine.letters import DeadLetters, WantedLetters
from muster.kit.ids import Ids
from muster.model.access import Caller, How, Role
from muster.model.execution import Wanted
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError
from muster.model.stored import AuditEntry, Page

log = logging.getLogger(__name__)
ITEMS_AT_ONCE = 100
SIDE_BY_SIDE = 8


class JobTarget(StrEnum):
    """What the items are: executions, or dead letters."""

    EXECUTION = "execution"
    LETTER = "dead_letter"


class JobAction(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    REPLAY = "replay"
    REDRIVE = "redrive"
    DISMISS = "dismiss"


class JobStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class ItemStatus(StrEnum):
    """Not looked at yet; done; refused, with the reason; left alone because the job was cancelled."""

    PENDING = "pending"
    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Options:
    """How it is done: for `cancel`, whether what was done is undone; for `retry` and `redrive`, from where
    and with what."""

    compensate: bool = False
    retry: Retry = field(default_factory=Retry)


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for. `chosen` are the items themselves, or what tells them from others now."""

    target: JobTarget
    action: JobAction
    chosen: Wanted | WantedLetters | Sequence[str]
    reason: str = ""
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Job:
    """`filter` is what told its items from others, if none were named; `counts` says how many have which
    status. `institute_id` None: of whoever sees every tenant."""

    id: str
    target: JobTarget
    action: JobAction
    filter: JsonObject | None
    reason: str
    options: Options
    actor: str
    institute_id: str | None
    status: JobStatus
    total: int
    created_at: datetime
    completed_at: datetime | None
    counts: Mapping[ItemStatus, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """One item and what became of it."""

    item_id: str
    status: ItemStatus
    reason: str | None
    result: Json
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job in the hands of this instance, and its next items. Every write of a result carries the fence."""

    job: Job
    fence: int
    items: Sequence[str]


class Jobs(Protocol):
    """Jobs as they are kept."""

    async def accept(self, job_id: str, order: Order, actor: Caller, audit: AuditEntry) -> int:
        """Write a job with all its items, in one transaction, and say how many there are."""
        ...

    async def get(self, institute_id: str | None, job_id: str) -> Job | None: ...

    async def list(
        self, institute_id: str | None, target: JobTarget, page: Page
    ) -> tuple[Sequence[Job], str | None]: ...

    async def items(
        self, job_id: str, status: ItemStatus | None, page: Page
    ) -> tuple[Sequence[Item], str | None]: ...

    async def cancel(self, job_id: str, audit: AuditEntry) -> bool:
        """Leave alone what is not done yet. False: the job has ended."""
        ...

    async def claim(self, owner: str, earlier: str, most: int) -> ClaimedJob | None:
        """Take the job that has waited longest and that nobody else works on, and its next items. Whoever has
        a name that begins with `earlier` is this one, or was: what it holds is left from a failed pass."""
        ...

    async def settle(self, claimed: ClaimedJob, refused: Mapping[str, str]) -> None:
        """Write down what was refused, and why; let go of the job, which has ended if no item is left.
        Nothing happens if it is another's."""
        ...


class Bulk:
    """What people do with jobs."""

    def __init__(self, jobs: Jobs, ids: Ids, wake: Callable[[], None]) -> None:
        self._jobs, self._ids, self._wake = jobs, ids, wake

    async def accept(self, order: Order, actor: Caller) -> tuple[str, int]:
        """Take an order; durable when this returns. Answers the job's id and how many items it has."""
        job_id = self._ids.new()
        total = await self._jobs.accept(job_id, order, actor, _audit(job_id, "create", actor, order.reason))
        self._wake()
        return job_id, total

    async def get(self, job_id: str, actor: Caller) -> Job:
        found = await self._jobs.get(actor.institute_id, job_id)
        if found is None:
            raise NotFound(f"There is no bulk job {job_id!r}")
        return found

    async def list(self, actor: Caller, target: JobTarget, page: Page) -> tuple[Sequence[Job], str | None]:
        """The jobs on things of this kind, newest first."""
        return await self._jobs.list(actor.institute_id, target, page)

    async def items(
        self, job_id: str, actor: Caller, status: ItemStatus | None, page: Page
    ) -> tuple[Sequence[Item], str | None]:
        job = await self.get(job_id, actor)
        return await self._jobs.items(job.id, status, page)

    async def cancel(self, job_id: str, by: By) -> Job:
        """Do no more of it. What is done stays done."""
        job = await self.get(job_id, by.actor)
        if not await self._jobs.cancel(job.id, _audit(job.id, "cancel", by.actor, by.reason)):
            raise Conflict("The job has ended")
        return await self.get(job_id, by.actor)


def _audit(job_id: str, action: str, actor: Caller, reason: str) -> AuditEntry:
    return AuditEntry("bulk_job", job_id, action, actor.name, actor.institute_id or "", {"reason": reason})


class BulkPass:
    """Does jobs' items, some at a time. An action and its item's result are one transaction, so that whoever
    goes on after a crash does nothing twice and leaves nothing out. `trouble` is the store's: what it befalls
    is done later."""

    def __init__(
        self,
        jobs: Jobs,
        actions: Actions,
        letters: DeadLetters,
        owner: str,
        earlier: str,
        notice: Callable[[], Awaitable[None]],
        trouble: tuple[type[Exception], ...],
    ) -> None:
        self._jobs, self._actions, self._letters = jobs, actions, letters
        self._owner, self._earlier, self._notice = owner, earlier, notice
        self._trouble = trouble

    async def work(self) -> bool:
        """Do some items of one job. False: there is nothing to do."""
        claimed = await self._jobs.claim(self._owner, self._earlier, ITEMS_AT_ONCE)
        if claimed is None:
            return False
        refused = await self._do_all(claimed)
        await self._jobs.settle(claimed, refused)
        await self._notice()
        return True

    async def _do_all(self, claimed: ClaimedJob) -> dict[str, str]:
        ahead, refused = iter(claimed.items), dict[str, str]()

        async def work() -> None:
            for item in ahead:  # the workers draw from one iterator, so each item goes to one of them
                if (reason := await self._try(claimed, item)) is not None:
                    refused[item] = reason

        # Whoever runs into trouble stops (the store is away, say); the others come to theirs by themselves.
        ended = await asyncio.gather(*(work() for _ in range(SIDE_BY_SIDE)), return_exceptions=True)
        for trouble in ended:
            if trouble is not None:
                raise trouble
        return refused

    async def _try(self, claimed: ClaimedJob, item: str) -> str | None:
        """Do one item. None: it is done, or somebody else's; otherwise, why it is refused."""
        by = By(_caller(claimed.job), claimed.job.reason, JobItem(claimed.job.id, item, claimed.fence))
        try:
            await self._do(claimed.job, item, by)
        except (Conflict, NotFound, AuthorError) as refused:
            return f"{refused}."
        except Overtaken:
            return None
        except self._trouble:
            raise
        except Exception:
            # The boundary of one item: a mistake in it keeps neither the others nor the job from their ends.
            log.exception("bulk job %s: the item %s failed", claimed.job.id, item)
            return "It failed unexpectedly; the log says more."
        return None

    async def _do(self, job: Job, item: str, by: By) -> None:
        match job.action:
            case JobAction.PAUSE:
                await self._actions.pause(item, by)
            case JobAction.RESUME:
                await self._actions.resume(item, by)
            case JobAction.CANCEL:
                await self._actions.cancel(item, by, job.options.compensate)
            case JobAction.RETRY:
                await self._actions.retry(item, by, job.options.retry)
            case JobAction.REPLAY:
                await self._actions.replay(item, by)
            case JobAction.REDRIVE:
                await self._letters.redrive(_number(item), by, job.options.retry)
            case JobAction.DISMISS if job.target is JobTarget.LETTER:
                await self._letters.dismiss(_number(item), by)
            case JobAction.DISMISS:
                await self._letters.dismiss_of(item, by)
            case _:
                assert_never(job.action)


def _number(item: str) -> int:
    if not item.isdecimal() or len(item) > 18:
        raise NotFound(f"There is no dead letter {item!r}")
    return int(item)


def _caller(job: Job) -> Caller:
    """Whoever gave the order. It was let in then; here only its name and whose things it sees count."""
    return Caller(job.actor, frozenset({Role.OPERATOR}), job.institute_id, How.TOKEN)


def options_document(options: Options) -> JsonObject:
    """What was given, as JSON."""
    retry = options.retry
    document: JsonObject = {
        "compensate": options.compensate or None,
        "from": retry.node,
        "context": retry.patch,
        "version": retry.version,
    }
    return {name: value for name, value in document.items() if value is not None}


def options_of(document: JsonObject) -> Options:
    """What `options_document` was given."""
    # Jobs were written with `node` before.
    node = document.get("from", document.get("node"))
    patch, version = document.get("context"), document.get("version")
    return Options(
        compensate=document.get("compensate") is True,
        retry=Retry(
            node=node if isinstance(node, str) else None,
            patch=patch if isinstance(patch, dict) else None,
            version=version if isinstance(version, int) else None,
        ),
    )
