"""An asyncio event loop under virtual time that chooses by a seed which of the ready callbacks runs next.

Nothing here waits, reads a clock or asks the operating system, so the same seed gives the same run. Every
callback belongs to the process in whose context it was scheduled, or to the world outside all processes; a
process that crashes never gets another callback.
"""

import asyncio
import heapq
import io
import math
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Args = TypeVarTuple("Args")
Coro = Generator[Any, None, T] | Coroutine[Any, Any, T]  # as asyncio itself types it

MICROSECONDS = 1_000_000


class Deadlock(Exception):
    """Nothing is ready, no timer is set, and the main task still waits."""


class Runaway(Exception):
    """The run took more steps than it may: something goes round in circles."""


class Owner(Protocol):
    """What the loop must know of a process."""

    @property
    def name(self) -> str: ...
    @property
    def alive(self) -> bool: ...
    @property
    def frozen_until(self) -> int:
        """None of its callbacks runs before this time, in microseconds."""
        ...


OWNER: ContextVar[Owner | None] = ContextVar("muster_sim_owner", default=None)
Step = Callable[[int, str, str], None]


class _Future(asyncio.Future[T]):
    """A future that hashes by its number, so that a set of them has the same order in every run."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class _Task(asyncio.Task[T]):
    """A task that hashes by its number, for the same reason."""

    def __init__(
        self, number: int, coro: Coro[T], loop: asyncio.AbstractEventLoop, name: str, context: Context | None
    ) -> None:
        self.number = number
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.number


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The event loop. `step`, if there is one, is told the time, the owner's name and the callback of every
    step."""

    def __init__(self, chance: Random, step: Step | None, most_steps: int) -> None:
        self._chance = chance
        self._step = step
        self._most_steps = most_steps
        self._now = 0
        self._numbers = 0
        self._ready: list[tuple[Owner | None, asyncio.Handle]] = []
        self._timers: list[tuple[int, int, Owner | None, asyncio.Handle]] = []
        self._tasks: list[tuple[Owner | None, asyncio.Task[Any]]] = []
        # What a crash left behind. If it were freed, `finally` blocks would run in a process that is dead.
        self._remains: list[asyncio.Handle] = []
        self._weed_at = 64
        self._running = False
        self._closed = False
        self.mistakes: list[str] = []

    # --- time and scheduling ---------------------------------------------------------------------

    def time(self) -> float:
        return self._now / MICROSECONDS

    @property
    def microseconds(self) -> int:
        return self._now

    def call_soon(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._enqueue(context.get(OWNER), handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Args], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Args], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        due = max(math.ceil(when * MICROSECONDS - 1e-3), self._now)
        heapq.heappush(self._timers, (due, self._number(), context.get(OWNER), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by asyncio; a cancelled timer is passed over when its time comes."""

    def call_soon_threadsafe(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        raise RuntimeError(f"{func!r} wants a thread, but a simulation has none: give it an inline port")

    def create_future(self) -> "asyncio.Future[Any]":
        return _Future(self._number(), self)

    def create_task(
        self, coro: Coro[T], *, name: object = None, context: Context | None = None
    ) -> "asyncio.Task[T]":
        owner = OWNER.get() if context is None else context.get(OWNER)
        number = self._number()
        task = _Task(number, coro, self, f"{name or 'task'} {number}", context)
        self._remember(owner, task)
        return task

    def _remember(self, owner: Owner | None, task: "asyncio.Task[Any]") -> None:
        if len(self._tasks) >= self._weed_at:
            self._forget_finished()
            self._weed_at = max(64, 2 * len(self._tasks))
        self._tasks.append((owner, task))

    def _forget_finished(self) -> None:
        """Let go of what has ended, so that asyncio reports those whose errors nobody saw. In a process that
        crashed, somebody might have gone on to look: those are kept."""
        self._tasks = [
            (owner, task)
            for owner, task in self._tasks
            if not task.done() or (owner is not None and not owner.alive)
        ]

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _enqueue(self, owner: Owner | None, handle: asyncio.Handle) -> None:
        if self._closed or (owner is not None and not owner.alive):
            self._remains.append(handle)
        else:
            self._ready.append((owner, handle))

    # --- running ---------------------------------------------------------------------------------

    def run_until_complete(self, future: Coro[T] | asyncio.Future[T]) -> T:  # type: ignore[override]  # no Awaitable
        if events._get_running_loop() is not None:
            if isinstance(future, Coroutine):
                future.close()
            raise RuntimeError("a simulation cannot run inside a running event loop")
        events._set_running_loop(self)
        self._running = True
        try:
            main = future if isinstance(future, asyncio.Future) else self.create_task(future, name="main")
            self._run(main)
            self._forget_finished()
            return main.result()
        finally:
            self._running = False
            events._set_running_loop(None)

    def _run(self, main: "asyncio.Future[T]") -> None:
        for _ in range(self._most_steps):
            self._wake_timers()
            if main.done():
                return
            if not self._ready:
                raise Deadlock(f"nothing will ever happen again at {self.time():.6f} s\n{self.stacks()}")
            self._run_one()
        raise Runaway(f"{self._most_steps} steps and no end at {self.time():.6f} s\n{self.stacks()}")

    def _wake_timers(self) -> None:
        """Make what is due ready; if nothing else is, jump to the next timer."""
        while self._timers and (not self._ready or self._timers[0][0] <= self._now):
            due, _, owner, handle = heapq.heappop(self._timers)
            if not handle.cancelled() and self._lives(owner, handle):
                self._now = max(self._now, due)
                self._ready.append((owner, handle))

    def _run_one(self) -> None:
        ready, chance = self._ready, self._chance
        chosen = int(chance.random() * len(ready))
        ready[chosen], ready[-1] = ready[-1], ready[chosen]
        owner, handle = ready.pop()
        if owner is not None and owner.frozen_until > self._now:
            heapq.heappush(self._timers, (owner.frozen_until, self._number(), owner, handle))
        elif not handle.cancelled() and self._lives(owner, handle):
            # Work takes time, so that a deadline can pass while something else is still running.
            self._now += int(chance.random() * 50)
            if self._step is not None:
                self._step(self._now, "world" if owner is None else owner.name, _description(handle))
            handle._run()

    def _lives(self, owner: Owner | None, handle: asyncio.Handle) -> bool:
        if owner is None or owner.alive:
            return True
        self._remains.append(handle)
        return False

    def stacks(self) -> str:
        """Where the tasks that could still run are waiting."""
        text = io.StringIO()
        for owner, task in self._tasks:
            if not task.done() and (owner is None or owner.alive):
                task.print_stack(file=text)
        return text.getvalue()

    def close(self) -> None:
        """End all tasks where they are. Only now do the `finally` blocks of crashed processes run: nobody
        looks at what they do any more."""
        self._closed = True
        for _, task in self._tasks:
            if not task.done():
                _end(task)
        for queue in (self._ready, self._timers, self._tasks, self._remains):
            queue.clear()

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    # --- what goes wrong -------------------------------------------------------------------------

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """An error that reached no one is a mistake of the run, unless the run is over."""
        if self._closed:
            return
        error = context.get("exception")
        self.mistakes.append(f"{context['message']}: {error!r}" if error else str(context["message"]))


def _end(task: "asyncio.Task[Any]") -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own switch for this
    coroutine = task.get_coro()
    # Whatever the dying code says, it says it to nobody.
    with suppress(BaseException):
        coroutine.close()


def _description(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]  # asyncio has no public name for it
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return task.get_name()
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))
