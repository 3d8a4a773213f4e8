"""One running instance: it starts executions, takes up what is due or abandoned, and drives what it owns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from muster.engine.drive import Driver
from muster.engine.live import Live, begin, take_over
from muster.engine.ports import Executions, Lost, NewExecution, OwnedExecution
from muster.engine.program import Program
from muster.engine.state import Failure, GivenUp, Todo
from muster.kit.clock import Clock
from muster.kit.loop import Loop

CLAIMED_AT_ONCE = 500
LOOK_EVERY = 1.0
# What brings its owner down five times in a row would bring down the sixth.
MOST_TAKEOVERS = 5

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Name:
    """Who this is. Every start of an instance is a new incarnation, and takes back what the last one held."""

    instance: str
    incarnation: str

    @property
    def owner(self) -> str:
        return f"{self.instance}/{self.incarnation}"


@dataclass(frozen=True, slots=True)
class _Driven:
    live: Live
    task: asyncio.Task[None]


class Instance:
    """Owns executions and drives each in a task of its own.

    `program` finds the program of a version. Whoever `start`s an execution has it durable when told so.
    `alone`: nobody else can be using the database, so whatever anybody held is this instance's.
    """

    def __init__(
        self,
        name: Name,
        executions: Executions,
        driver: Driver,
        program: Callable[[int], Awaitable[Program]],
        clock: Clock,
        lease: timedelta,
        alone: bool = False,
    ) -> None:
        self._earlier = "" if alone else f"{name.instance}/"
        self._renew_every = lease.total_seconds() / 3
        self.name = name
        self._executions = executions
        self._driver = driver
        self._program = program
        self._clock = clock
        self._has_taken_back = False
        self._driven: dict[str, _Driven] = {}
        self._due = Loop("due executions", self._due_pass)
        self._loops = (
            self._due,
            Loop("abandoned executions", self._abandoned_pass),
            Loop("signals", self._signals_pass),
            Loop("leases", self._lease_pass),
        )

    async def start(self, new: NewExecution) -> None:
        """Begin an execution: durable when this returns, and under way. Raises `NotWritten`."""
        program, asked = await self._program(new.version_id), _loop_time()
        await self._executions.start(new)
        self._spawn(*begin(new, program), asked)

    async def run(self) -> None:
        """Look after everything until cancelled: first of all what this instance held before."""
        async with asyncio.TaskGroup() as loops:
            for loop in self._loops:
                loops.create_task(loop.run())

    def wake(self) -> None:
        """Look for what is due now: somebody knows that there is something."""
        self._due.wake()

    async def ended(self, execution_id: str) -> None:
        """Wait until this instance has let go of an execution; at once if it does not have it."""
        if driven := self._driven.get(execution_id):
            await asyncio.wait([driven.task])

    async def drain(self, seconds: float) -> None:
        """Let what is driven come to its next rest; what takes longer is left to whoever comes next."""
        tasks = [driven.task for driven in self._driven.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- passes: each answers how many it took ------------------------------------------------------

    async def take_back(self) -> int:
        """Take what earlier incarnations of this instance held, without waiting for their leases."""
        claim = self._executions.claim_of_earlier(self.name.owner, self._earlier, CLAIMED_AT_ONCE)
        return await self._take(claim)

    async def take_due(self) -> int:
        """Resume what has come due."""
        return await self._take(self._executions.claim_due(self.name.owner, CLAIMED_AT_ONCE))

    async def take_abandoned(self) -> int:
        """Take over from instances that are gone."""
        return await self._take(self._executions.claim_abandoned(self.name.owner, CLAIMED_AT_ONCE))

    async def renew(self) -> None:
        """Keep what is owned."""
        held, asked = [driven.live for driven in self._driven.values()], _loop_time()
        if held:
            mine = await self._executions.renew(self.name.owner, [live.facts.id for live in held])
            for live in held:
                if live.facts.id in mine:
                    live.confirmed = asked

    # --- timetables ------------------------------------------------------------------------------------

    async def _due_pass(self) -> float:
        """Sleep until the next that is known to be due, and look every second for what is not known."""
        if await self.take_due() == CLAIMED_AT_ONCE:
            return 0.0
        due = await self._executions.next_due()
        if due is None:
            return LOOK_EVERY
        return min(max((due - self._clock.now()).total_seconds(), 0.0), LOOK_EVERY)

    async def _abandoned_pass(self) -> float:
        """Take back once, at the start: another that has this name by mistake is robbed only once."""
        if not self._has_taken_back:
            if await self.take_back() == CLAIMED_AT_ONCE:
                return 0.0
            self._has_taken_back = True
        return 0.0 if await self.take_abandoned() == CLAIMED_AT_ONCE else LOOK_EVERY

    async def _signals_pass(self) -> float:
        await self.take_signals()
        return LOOK_EVERY

    async def _lease_pass(self) -> float:
        await self.renew()
        return self._renew_every

    async def _take(self, claim: Awaitable[Sequence[OwnedExecution]]) -> int:
        asked = _loop_time()
        taken = await claim
        for owned in taken:
            try:
                live, todo = self._taken_over(owned, await self._program(owned.version_id))
            except Exception:
                # Of this one nothing can be made; its lease runs out, and the others are not to wait for it.
                log.exception("execution %s cannot be taken up", owned.id)
            else:
                self._spawn(live, todo, asked)
        return len(taken)

    def _taken_over(self, owned: OwnedExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
        live, todo = take_over(owned, program)
        if owned.takeovers <= MOST_TAKEOVERS:
            return live, todo
        told = f"taken over {MOST_TAKEOVERS} times without making progress"
        return live, live.happen(GivenUp(Failure("Poisoned", told)), self._clock.now())

    async def take_signals(self) -> int:
        """Hand what has reached executions that are driven here to whoever drives them."""
        if not self._driven:
            return 0
        found = await self._executions.signals(self.name.owner)
        for execution_id, signals in found.items():
            if driven := self._driven.get(execution_id):
                driven.live.receive(signals)
        return len(found)

    def _spawn(self, live: Live, todo: Iterable[Todo], asked: float) -> None:
        # The lease began after it was asked for: counted from then, it ends here before it ends there.
        live.confirmed = asked
        task = asyncio.create_task(self._drive(live, todo))
        self._driven[live.facts.id] = _Driven(live, task)

    async def _drive(self, live: Live, todo: Iterable[Todo]) -> None:
        execution_id = live.facts.id
        try:
            await self._driver.drive(live, todo)
        except Lost:
            log.info("execution %s was taken over by another instance", execution_id)
        except Exception:
            # The boundary of one execution: a mistake in it ends neither the others nor this instance.
            log.exception("execution %s is left to its next owner", execution_id)
        finally:
            # One that parked and came due at once may have been claimed anew, by a task of its own.
            driven = self._driven.get(execution_id)
            if driven is not None and driven.live is live:
                del self._driven[execution_id]


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
