"""Doing external tasks: fetch, hold, handle, say what came of it, and leave in good order."""

import asyncio
import logging
import random
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import getpid
from typing import Any, TypeAlias, TypeVar

from muster.client import tasks
from muster.client.awaiting import AsyncMuster
from muster.client.errors import Forbidden, Invalid, MusterError, NotFound, Unauthenticated
from muster.client.requests import Call
from muster.client.retrying import Retries
from muster.client.shells import LOCAL, Token
from muster.client.tasks import Result, Task

T = TypeVar("T")
AsyncHandler: TypeAlias = Callable[[Task], Awaitable[Result]]
Handler: TypeAlias = Callable[[Task], Result]
# No pause mends these: somebody has to.
_HOPELESS = (Unauthenticated, Forbidden, Invalid)
_NO_LONGER_OURS = (Invalid, NotFound)
_PAUSE = (0.5, 2.0)
MOST_TRIES = 1_000

_log = logging.getLogger("muster.client")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a worker works: `concurrency` tasks at a time, each locked for `lock` seconds and again while it
    takes longer; asking waits `poll` seconds for tasks. What failed is offered again after `retry_after`
    seconds. Told to end, it gives the tasks in hand `grace` seconds."""

    concurrency: int = 8
    lock: float = 60.0
    poll: float = 20.0
    retry_after: float = 10.0
    grace: float = 30.0


class AsyncWorker:
    """Does the tasks of some topics, with a coroutine function for each. A handler returns variables,
    nothing, `Complete` or `Failure`; it raises `BusinessError`, or anything, which is a failure."""

    # Whether a handler that is cancelled has stopped, so that others may have its task.
    _stops = True

    def __init__(
        self,
        handlers: Mapping[str, AsyncHandler],
        url: str = LOCAL,
        token: Token = None,
        *,
        name: str | None = None,
        manner: Manner = Manner(),  # noqa: B008  # frozen
    ) -> None:
        self._handlers = dict(handlers)
        self._url, self._token = url, token
        self._name = name or f"{socket.gethostname()}-{getpid()}"
        self._manner = manner
        # What came of a task is said for as long as the task is ours: until then nobody else does it.
        self._retries = Retries(tries=MOST_TRIES, within=max(manner.lock, Retries().within))
        self._told_to_end = threading.Event()
        self._wake: Callable[[], None] = lambda: None
        self._at_work: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Take no further task; `run` ends when those in hand are done. From any thread, at any time."""
        self._told_to_end.set()
        self._wake()

    async def run(self) -> None:
        """Work until `close`, SIGTERM or SIGINT. Raises `MusterError` where the server lets it do nothing."""
        loop, closing = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: _call_soon(loop, closing.set)
        if self._told_to_end.is_set():
            closing.set()
        with _signals(loop, self.close):
            async with AsyncMuster(self._url, self._token, retries=self._retries) as client:
                try:
                    await self._take_up(client, closing)
                finally:
                    await self._finish()

    async def _take_up(self, client: AsyncMuster, closing: asyncio.Event) -> None:
        while not closing.is_set():
            if len(self._at_work) >= self._manner.concurrency:
                await _unless(closing, _one_of(self._at_work))
            else:
                for task in await _unless(closing, self._fetched(client)) or ():
                    self._begin(client, task)

    async def _fetched(self, client: AsyncMuster) -> list[Task]:
        """Tasks for the hands that are free. Raises what no pause will mend."""
        free, how = self._manner.concurrency - len(self._at_work), self._manner
        try:
            return await client.send(
                tasks.fetch(self._name, list(self._handlers), free, lock=how.lock, poll=how.poll)
            )
        except _HOPELESS:
            raise
        except MusterError as error:
            _log.warning("no tasks can be fetched now: %s", error)
            await asyncio.sleep(random.uniform(*_PAUSE))
            return []

    def _begin(self, client: AsyncMuster, task: Task) -> None:
        work = asyncio.create_task(self._work(client, task))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)

    async def _work(self, client: AsyncMuster, task: Task) -> None:
        """Handle it as long as it is ours, and say what came of it."""
        handling = asyncio.ensure_future(self._handled(task))
        holding = asyncio.ensure_future(self._hold(client, task))
        try:
            await asyncio.wait({handling, holding}, return_when=asyncio.FIRST_COMPLETED)
            if handling.done():
                await self._say(client, task, handling.result())
        except asyncio.CancelledError:
            task.lost.set()
            if self._stops:
                await _ended(handling)
                await self._say(client, task, tasks.give_back(self._name, task))
        finally:
            await _ended(handling, holding)

    async def _handled(self, task: Task) -> Call[None]:
        """What to say of it. What cannot be written as JSON is a failure, too."""
        try:
            result = tasks.reported(await self._handlers[task.topic](task))
            return tasks.report(self._name, task, result)
        except Exception as error:  # whatever a handler raises is for the execution to know
            _log.info("the task %s of %s failed: %s", task.id, task.topic, error)
            return tasks.report(self._name, task, tasks.failed(error, self._manner.retry_after))

    async def _hold(self, client: AsyncMuster, task: Task) -> None:
        """Lock it anew while it is handled. Returns when it is no longer ours."""
        while True:
            await asyncio.sleep(self._manner.lock / 5)
            try:
                await client.send(tasks.extend(self._name, task, self._manner.lock))
            except _NO_LONGER_OURS as error:
                _log.warning("the task %s of %s is no longer ours: %s", task.id, task.topic, error)
                return task.lost.set()
            except MusterError as error:
                _log.warning("the task %s of %s cannot be held now: %s", task.id, task.topic, error)

    async def _say(self, client: AsyncMuster, task: Task, call: Call[None]) -> None:
        try:
            await client.send(call)
        except MusterError as error:
            # It was said already and the answer was lost, or it is offered again when its lock is over.
            _log.warning("what came of the task %s of %s was not taken: %s", task.id, task.topic, error)

    async def _finish(self) -> None:
        """Let those in hand end, for as long as the grace is."""
        if self._at_work:
            await asyncio.wait(set(self._at_work), timeout=self._manner.grace)
        await _ended(*self._at_work)


class _Threaded(AsyncWorker):
    """Its handlers are threads, which nobody can stop: their tasks stay locked until the locks are over."""

    _stops = False


class Worker:
    """Does the tasks of some topics, with a function for each, which runs in a thread: else as
    `AsyncWorker`."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        url: str = LOCAL,
        token: Token = None,
        *,
        name: str | None = None,
        manner: Manner = Manner(),  # noqa: B008  # frozen
    ) -> None:
        self._threads = ThreadPoolExecutor(manner.concurrency, thread_name_prefix="muster-task")
        inside = {topic: self._in_a_thread(handler) for topic, handler in handlers.items()}
        self._worker = _Threaded(inside, url, token, name=name, manner=manner)

    def run(self) -> None:
        """Work until `close`, SIGTERM or SIGINT. Raises `MusterError` where the server lets it do nothing."""
        try:
            asyncio.run(self._worker.run())
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Take no further task; `run` ends when those in hand are done. From any thread, at any time."""
        self._worker.close()

    def _in_a_thread(self, handler: Handler) -> AsyncHandler:
        async def handle(task: Task) -> Result:
            return await asyncio.get_running_loop().run_in_executor(self._threads, handler, task)

        return handle


async def _unless(closing: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What comes of the work; None: it was time to close before, and the work was stopped."""
    working, told = asyncio.ensure_future(work), asyncio.ensure_future(closing.wait())
    try:
        await asyncio.wait({working, told}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        await _ended(working, told)


async def _one_of(several: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(set(several), return_when=asyncio.FIRST_COMPLETED)


async def _ended(*several: "asyncio.Future[Any]") -> None:
    for each in several:
        each.cancel()
    await asyncio.gather(*several, return_exceptions=True)


def _call_soon(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(act)


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> Iterator[None]:
    """Act when the process is told to end: where it can be heard, which is the main thread."""
    heard = [signal.SIGTERM, signal.SIGINT]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    for each in heard:
        loop.add_signal_handler(each, act)
    try:
        yield
    finally:
        for each in heard:
            loop.remove_signal_handler(each)
