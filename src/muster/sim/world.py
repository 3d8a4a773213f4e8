"""A world to run things in: virtual time, processes that can crash, chance from one seed, and a trace."""

import asyncio
import gc
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeVar

from muster.sim.loop import OWNER, SimulatedLoop, Step

T = TypeVar("T")
MakeLoop = Callable[[Random, Step | None, int], SimulatedLoop]
BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class SimulatedClock:
    """The time of a simulated loop, counted from a fixed day."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return BEGINNING + timedelta(microseconds=self._loop.microseconds)


class SeededIds:
    """UUIDv7 whose random bits come from the seed."""

    def __init__(self, clock: SimulatedClock, chance: Random) -> None:
        self._clock, self._chance = clock, chance

    def new(self) -> str:
        milliseconds = int(self._clock.now().timestamp() * 1000)
        low = 0b10 << 62 | self._chance.getrandbits(62)
        return str(uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | self._chance.getrandbits(12) << 64 | low))


class Process:
    """Tasks that live and die together. After `crash` none of them runs again: no handler, no `finally`."""

    def __init__(self, name: str, world: "World") -> None:
        self.name = name
        self.alive = True
        self.frozen_until = 0
        self._world = world
        self._context = copy_context()
        self._context.run(OWNER.set, self)
        # Made outside, so that who watches this process is told of its end.
        self._ended: asyncio.Future[bool] = world.loop.create_future()

    def start(self, main: Coroutine[object, object, object]) -> None:
        """Run `main` in this process, which ends when `main` does."""
        task = self._world.loop.create_task(main, name="main", context=self._context.copy())
        task.add_done_callback(self._finish, context=Context())

    def crash(self) -> None:
        """End it here and now."""
        if self.alive:
            self._world.note(self.name, "crashes")
            self._end(crashed=True)

    def freeze(self, seconds: float) -> None:
        """Stop it for a while, as SIGSTOP does: it goes on as if no time had passed."""
        self._world.note(self.name, f"is frozen for {seconds} s")
        self.frozen_until = self._world.loop.microseconds + int(seconds * 1e6)

    async def ended(self) -> bool:
        """Wait until it has ended. True: it crashed; False: it came to its end. Raises what `main` raised."""
        return await asyncio.shield(self._ended)

    def _finish(self, task: "asyncio.Task[object]") -> None:
        if not self.alive:
            return
        error = None if task.cancelled() else task.exception()
        if error is None:
            self._end(crashed=False)
        else:
            self.alive = False
            self._ended.set_exception(error)

    def _end(self, crashed: bool) -> None:
        self.alive = False
        if not self._ended.done():
            self._ended.set_result(crashed)


def current_process() -> Process | None:
    """The process that the running code belongs to; None: the world outside."""
    owner = OWNER.get()
    return owner if isinstance(owner, Process) else None


class World:
    """One simulated run. Everything in it that is not decided by code is drawn from `seed`.

    Without a trace it is the same run, and faster.
    """

    def __init__(
        self,
        seed: int,
        most_steps: int = 1_000_000,
        traced: bool = True,
        make_loop: MakeLoop | None = None,
    ) -> None:
        self.seed = seed
        self.traced = traced
        self._trace: list[tuple[int, str, str]] = []
        step = self._record if traced else None
        # asyncio itself leaves out what an event loop does not offer: sockets, signals, subprocesses.
        make = make_loop or SimulatedLoop
        self.loop = make(self.chance("schedule"), step, most_steps)
        self.clock = SimulatedClock(self.loop)
        self.ids = SeededIds(self.clock, self.chance("ids"))

    def chance(self, purpose: str) -> Random:
        """A source of chance of its own for each purpose, so that a draw more in one moves no other."""
        return Random(f"{self.seed}/{purpose}")

    def process(self, name: str) -> Process:
        return Process(name, self)

    def outside(self, work: Coroutine[object, object, T], name: str) -> "asyncio.Task[T]":
        """Run something that no crash of a process ends: a database, a network."""
        return self.loop.create_task(work, name=name, context=Context())

    def note(self, who: str, what: str) -> None:
        """Write a line into the trace."""
        if self.traced:
            self._record(self.loop.microseconds, who, what)

    def _record(self, microseconds: int, who: str, what: str) -> None:
        self._trace.append((microseconds, who, what))

    def trace(self) -> list[str]:
        """What happened: virtual time, who, what. The same seed gives the same lines."""
        return [f"{at / 1e6:.6f} {who}: {what}" for at, who, what in self._trace]

    def run(self, main: Callable[["World"], Coroutine[object, object, T]]) -> T:
        """Run `main` outside all processes until it returns, then end everything.

        An error that reached nobody (an exception in a callback, a failed task that none awaits) is raised
        here. What is logged goes into the trace.
        """
        with _collecting_at_the_end(), _logging_into(self):
            try:
                result = self.loop.run_until_complete(main(self))
                gc.collect()
                if self.loop.mistakes:
                    raise Unnoticed("; ".join(sorted(self.loop.mistakes)))
                return result
            finally:
                self.loop.close()


@contextmanager
def _collecting_at_the_end() -> Iterator[None]:
    """Keep the garbage collector out: when it comes depends on all that the process did before, and it is the
    collector that finds failed tasks which nobody looked at. What was there before is not looked through."""
    was_on = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


@contextmanager
def _logging_into(world: World) -> Iterator[None]:
    """Let `muster` log into the trace of this run, and nowhere else."""
    logger = logging.getLogger("muster")
    before = logger.handlers[:], logger.level, logger.propagate
    logger.handlers = [_TraceHandler(world)]
    logger.setLevel(logging.INFO if world.traced else logging.CRITICAL + 1)
    logger.propagate = False
    try:
        yield
    finally:
        logger.handlers, level, logger.propagate = before
        logger.setLevel(level)


class _TraceHandler(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = record.getMessage() if error is None else f"{record.getMessage()}: {error!r}"
        self._world.note(record.name, told)


class Unnoticed(Exception):
    """Something failed in a simulated run and nobody was told."""
