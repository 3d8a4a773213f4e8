"""What workers do with external tasks: ask for them, perhaps wait until there are some, and say what came of
them."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from muster.engine.external_tasks import Refused, Report, Verdict
from muster.model.access import Caller
from muster.model.external_task import ExternalTask, TaskStatus
from muster.model.json import Json
from muster.model.stored import Page

LOOK_EVERY = 1.0
# Who comes when so many wait is answered at once.
MOST_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Topic:
    """What a worker asks for. It gets only tasks whose variables have the values of `having`, of these
    workflows, versions and tenants, if any are named, and of the execution with this key. Without `lock` it
    has the task for as long as the node says."""

    name: str
    lock: timedelta | None = None
    having: Mapping[str, Json] = field(default_factory=dict)
    workflow_keys: tuple[str, ...] = ()
    version_ids: tuple[int, ...] = ()
    institute_ids: tuple[str, ...] | None = None
    business_key: str | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """`institute_id` None: of every tenant."""

    worker: str
    topics: tuple[Topic, ...]
    most: int
    by_priority: bool = True
    newest_first: bool = False
    institute_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reported:
    task_id: str
    institute_id: str | None
    report: Report


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks are listed; None: whichever. `locked` and `has_retries` are asked of open ones."""

    ids: tuple[str, ...] | None = None
    status: TaskStatus | None = None
    topic: str | None = None
    worker: str | None = None
    execution_id: str | None = None
    node_id: str | None = None
    workflow_key: str | None = None
    version_id: int | None = None
    institute_ids: tuple[str, ...] | None = None
    locked: bool | None = None
    has_retries: bool | None = None
    lock_ends_before: datetime | None = None
    lock_ends_after: datetime | None = None
    priority_from: int | None = None
    priority_to: int | None = None


class ExternalTasks(Protocol):
    """Tasks as they are kept. Whatever is asked raises `NotWritten` if the store is away."""

    async def fetch(self, fetch: Fetch) -> Sequence[ExternalTask]:
        """Lock tasks for a worker: each has one, until its lock is over."""
        ...

    async def free(self, topics: Collection[str]) -> Mapping[str, int]:
        """How many tasks of these topics a worker could have now."""
        ...

    async def report(self, reported: Reported) -> Verdict:
        """Take what a worker says; with what ends a task, its execution goes on. Durable when it returns."""
        ...


class TaskLists(Protocol):
    """Tasks as they are read back. `institute_id` None reads across tenants."""

    async def get(self, institute_id: str | None, task_id: str) -> ExternalTask | None: ...

    async def list(
        self, institute_id: str | None, page: Page, wanted: TaskFilter
    ) -> tuple[Sequence[ExternalTask], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def range(
        self,
        institute_id: str | None,
        wanted: TaskFilter,
        order: Sequence[tuple[str, bool]],
        first: int,
        most: int,
    ) -> Sequence[ExternalTask]:
        """So many from a place on, in this order: by what, and whether downwards."""
        ...

    async def count(self, institute_id: str | None, wanted: TaskFilter) -> int: ...

    async def topics(self, institute_id: str | None) -> Sequence[str]:
        """Those of open tasks."""
        ...


class _Waiter:
    def __init__(self, topics: Collection[str]) -> None:
        self.topics, self.called = frozenset(topics), asyncio.Event()


class Working:
    """`wake` lets the engine look at once for what has come due. Of those who wait here for tasks, as many
    are called as there are tasks, in the order in which they came; who finds nothing waits on."""

    def __init__(self, tasks: ExternalTasks, lists: TaskLists, wake: Callable[[], None]) -> None:
        self._tasks, self.lists, self._wake = tasks, lists, wake
        self._waiting: deque[_Waiter] = deque()
        self._closing = False

    async def fetch(self, fetch: Fetch, actor: Caller, patience: float = 0.0) -> Sequence[ExternalTask]:
        """Tasks for a worker; where there are none, those that come within `patience` seconds."""
        if not fetch.topics:
            return ()
        own = replace(fetch, institute_id=actor.institute_id)
        until = asyncio.get_running_loop().time() + patience
        waiter = _Waiter({topic.name for topic in fetch.topics})
        self._waiting.append(waiter)
        try:
            while True:
                waiter.called.clear()
                found = await self._tasks.fetch(own)
                if found or not await self._called(waiter, until):
                    return found
        finally:
            self._waiting.remove(waiter)

    async def _called(self, waiter: _Waiter, until: float) -> bool:
        """Wait until there may be something. False: it does not wait any longer."""
        left = until - asyncio.get_running_loop().time()
        if left <= 0 or self._closing or len(self._waiting) > MOST_WAITING:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await waiter.called.wait()
        return waiter.called.is_set() and not self._closing

    def offered(self, topic: str, count: int = 1) -> None:
        """There are tasks: call those who have waited for longest."""
        for waiter in self._waiting:
            if count <= 0:
                return
            if topic in waiter.topics and not waiter.called.is_set():
                waiter.called.set()
                count -= 1

    async def look(self) -> float:
        """A pass: find what others have offered, and what is offered again because its lock is over."""
        topics = {topic for waiter in self._waiting for topic in waiter.topics}
        if topics:
            for topic, count in (await self._tasks.free(topics)).items():
                self.offered(topic, count)
        return LOOK_EVERY

    async def report(self, task_id: str, report: Report, actor: Caller) -> Verdict:
        verdict = await self._tasks.report(Reported(task_id, actor.institute_id, report))
        if not isinstance(verdict, Refused) and verdict.answer is not None:
            self._wake()
        return verdict

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closing = True
        for waiter in self._waiting:
            waiter.called.set()
