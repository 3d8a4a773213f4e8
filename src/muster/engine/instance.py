"""One running instance: it starts executions, takes up what is due or abandoned, and drives what it owns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from muster.engine.drive import Driver
from muster.engine.live import Live, begin, take_over
from muster.engine.ports import Executions, Lost, NewExecution, OwnedExecution
from muster.engine.program import Program
from muster.engine.state import Todo

CLAIMED_AT_ONCE = 500

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
    """

    def __init__(
        self,
        name: Name,
        executions: Executions,
        driver: Driver,
        program: Callable[[int], Awaitable[Program]],
    ) -> None:
        self.name = name
        self._executions = executions
        self._driver = driver
        self._program = program
        self._driven: dict[str, _Driven] = {}

    async def start(self, new: NewExecution) -> None:
        """Begin an execution: durable when this returns, and under way. Raises `NotWritten`."""
        program = await self._program(new.version_id)
        await self._executions.start(new)
        self._spawn(*begin(new, program))

    async def ended(self, execution_id: str) -> None:
        """Wait until this instance has let go of an execution; at once if it does not have it."""
        if driven := self._driven.get(execution_id):
            await asyncio.wait([driven.task])

    # --- passes: each answers how many it took ------------------------------------------------------

    async def take_back(self) -> int:
        """Take what earlier incarnations of this instance held, without waiting for their leases."""
        name = self.name
        taken = await self._executions.claim_of_earlier(name.owner, name.instance, CLAIMED_AT_ONCE)
        return await self._take(taken)

    async def take_due(self) -> int:
        """Resume what has come due."""
        return await self._take(await self._executions.claim_due(self.name.owner, CLAIMED_AT_ONCE))

    async def take_abandoned(self) -> int:
        """Take over from instances that are gone."""
        return await self._take(await self._executions.claim_abandoned(self.name.owner, CLAIMED_AT_ONCE))

    async def renew(self) -> None:
        """Keep what is owned."""
        if self._driven:
            await self._executions.renew(self.name.owner)

    async def _take(self, taken: Sequence[OwnedExecution]) -> int:
        for owned in taken:
            self._spawn(*take_over(owned, await self._program(owned.version_id)))
        return len(taken)

    async def take_signals(self) -> int:
        """Hand what has reached executions that are driven here to whoever drives them."""
        if not self._driven:
            return 0
        found = await self._executions.signals(self.name.owner)
        for execution_id, signals in found.items():
            if driven := self._driven.get(execution_id):
                driven.live.receive(signals)
        return len(found)

    def _spawn(self, live: Live, todo: Iterable[Todo]) -> None:
        task = asyncio.create_task(self._drive(live, todo))
        self._driven[live.facts.id] = _Driven(live, task)

    async def _drive(self, live: Live, todo: Iterable[Todo]) -> None:
        execution_id = live.facts.id
        try:
            await self._driver.drive(live, todo)
        except Lost:
            log.info("execution %s was taken over by another instance", execution_id)
        finally:
            # One that parked and came due at once may have been claimed anew, by a task of its own.
            driven = self._driven.get(execution_id)
            if driven is not None and driven.live is live:
                del self._driven[execution_id]
