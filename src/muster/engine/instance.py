"""One running instance: it starts executions, takes up what is due or abandoned, and drives what it owns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from muster.engine.drive import Driver
from muster.engine.limits import limit_of
from muster.engine.live import Live, begin, take_over, with_values
from muster.engine.observer import Nobody, Observer
from muster.engine.ports import (
    Begun,
    Checkpoint,
    Closing,
    Executions,
    Lost,
    NewExecution,
    NotWritten,
    OwnedExecution,
    Progress,
)
from muster.engine.program import Program
from muster.engine.search import terms_of
from muster.engine.state import ExecutionStatus, Failure, GivenUp, Todo
from muster.kit.backoff import until_it_works
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.model.aside import Unread

CLAIMED_AT_ONCE = 500
LOOK_EVERY = 1.0
LOOK_AT_QUEUED_EVERY = 5.0
LETTING_GO_SECONDS = 5.0
# A version that cannot be loaded wants a person, and what a store that was away keeps only a moment.
UNLOADABLE_PAUSE = timedelta(minutes=1)
UNREAD_PAUSE = timedelta(seconds=1)
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
    task: asyncio.Task[Checkpoint | None]


class Instance:
    """Owns executions and drives each in a task of its own.

    `program` finds the program of a version. Whoever `start`s an execution has it durable when told so.
    `alone`: nobody else can be using the database, so whatever anybody held is this instance's. What was
    taken over more than `most_takeovers` times without making progress is given up.
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
        observer: Observer | None = None,
        most_takeovers: int = MOST_TAKEOVERS,
    ) -> None:
        self._earlier = "" if alone else f"{name.instance}/"
        self._renew_every = lease.total_seconds() / 3
        self._most_takeovers = most_takeovers
        self.name = name
        self._executions = executions
        self._driver = driver
        self._program = program
        self._clock = clock
        self._observer = observer or Nobody()
        self._has_taken_back = False
        self._renewed = 0.0
        self._retired: float | None = None
        self._driven: dict[str, _Driven] = {}
        self._unloadable: set[int] = set()
        self._due = Loop("due executions", self._due_pass, (NotWritten,))
        self._abandoned = Loop("abandoned executions", self._abandoned_pass, (NotWritten,))
        self._signals = Loop("signals", self._signals_pass, (NotWritten,))
        self._leases = Loop("leases", self._lease_pass, (NotWritten,))
        self._queued = Loop("queued executions", self._queued_pass, (NotWritten,))

    async def start(self, new: NewExecution) -> Begun:
        """Begin an execution: durable when this returns, and under way, or ready for whoever looks next if
        this instance takes no work, or queued; or another has its key. Raises `NotWritten`, or
        `BadConcurrencyKey`."""
        program, asked = await self._program(new.version_id), _loop_time()
        if program.search:
            new = replace(new, terms=terms_of(program.search, new.context))
        if program.concurrency is not None:
            limit = limit_of(program.concurrency, new.workflow_id, new.context, new.started_at)
            new = replace(new, limit=limit)
        is_ours = not self.is_retired
        begun = await self._executions.start(new if is_ours else replace(new, owner=None))
        if begun.duplicate:
            return begun
        self._observer.started(new, program)
        if is_ours and begun.status is ExecutionStatus.RUNNING:
            self._spawn(*begin(new, program), asked)
        return begun

    async def run(self) -> None:
        """Look after everything until cancelled: first of all what this instance held before."""
        async with asyncio.TaskGroup() as loops:
            for loop in (self._due, self._abandoned, self._signals, self._leases, self._queued):
                loops.create_task(loop.run())

    @property
    def driving(self) -> int:
        """How many executions it has in hand."""
        return len(self._driven)

    def wake(self) -> None:
        """Look for what is due now: somebody knows that there is something."""
        self._due.wake()

    def look_now(self) -> None:
        """Look for what is due, and for what has reached executions that are driven here, without waiting
        for what is found."""
        self._due.wake()
        self._signals.wake()

    async def notice(self) -> None:
        """Look for signals and for what is due now: somebody has left some."""
        await self.take_signals()
        self.wake()

    async def ended(self, execution_id: str) -> Checkpoint | None:
        """Wait until this instance has let go of an execution, and say where it stood then. None: this
        instance does not have it, or has lost it."""
        driven = self._driven.get(execution_id)
        if driven is None:
            return None
        await asyncio.wait([driven.task])
        return None if driven.task.cancelled() else driven.task.result()

    # --- leaving -----------------------------------------------------------------------------------------

    @property
    def is_retired(self) -> bool:
        return self._retired is not None

    def retire(self) -> None:
        """Take no work from now on. Nodes that run may finish, and what follows them is handed on."""
        if self._retired is None:
            self._retired = _loop_time()
            for driven in self._driven.values():
                driven.live.hand_on()

    async def leave(self, seconds: float) -> None:
        """Let nodes that run finish until so many seconds after `retire`, and let go of everything: of what
        takes longer, too. Whoever looks next goes on from the journal."""
        self.retire()
        assert self._retired is not None, "it has just retired"
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._retired + seconds):
                await self._due.stop()
                await self._abandoned.stop()
                while self._driven:
                    await asyncio.wait([driven.task for driven in self._driven.values()])
        tasks = [driven.task for driven in self._driven.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._let_go()

    async def _let_go(self) -> None:
        try:
            async with asyncio.timeout(LETTING_GO_SECONDS):
                await self._executions.release(self.name.owner)
        except (NotWritten, TimeoutError) as away:
            log.warning("what this instance holds is free when its leases have run out: %s", away)

    # --- passes: each answers how many it took ------------------------------------------------------

    async def take_back(self) -> int:
        """Take what earlier incarnations of this instance held, without waiting for their leases."""
        claim = self._executions.claim_of_earlier(self.name.owner, self._earlier, CLAIMED_AT_ONCE)
        return await self._take(claim, is_takeover=True)

    async def take_due(self) -> int:
        """Resume what has come due."""
        claim = self._executions.claim_due(self.name.owner, CLAIMED_AT_ONCE)
        return await self._take(claim, is_takeover=False)

    async def take_abandoned(self) -> int:
        """Take over from instances that are gone."""
        claim = self._executions.claim_abandoned(self.name.owner, CLAIMED_AT_ONCE)
        return await self._take(claim, is_takeover=True)

    async def admit_queued(self) -> int:
        """Look again at what is queued."""
        looked_at = await self._executions.admit_queued(CLAIMED_AT_ONCE)
        if looked_at:
            self.wake()
        return looked_at

    async def renew(self) -> None:
        """Keep what is owned."""
        held, asked = [driven.live for driven in self._driven.values()], _loop_time()
        if held:
            mine = set(await self._executions.renew(self.name.owner, [live.facts.id for live in held]))
            for live in held:
                if live.facts.id in mine:
                    live.confirmed = asked
        self._renewed = asked

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
        if _loop_time() - self._renewed > self._renew_every * 2:
            # The database was away, or this process asleep: nobody is to take over from itself.
            await self.renew()
        if not self._has_taken_back:
            if await self.take_back() == CLAIMED_AT_ONCE:
                return 0.0
            self._has_taken_back = True
        return 0.0 if await self.take_abandoned() == CLAIMED_AT_ONCE else LOOK_EVERY

    async def _signals_pass(self) -> float:
        await self.take_signals()
        return LOOK_EVERY

    async def _queued_pass(self) -> float:
        """Whoever ends lets the next one in by itself: this is for what no end tells of."""
        return 0.0 if await self.admit_queued() == CLAIMED_AT_ONCE else LOOK_AT_QUEUED_EVERY

    async def _lease_pass(self) -> float:
        await self.renew()
        return self._renew_every

    async def _take(self, claim: Awaitable[Sequence[OwnedExecution]], is_takeover: bool) -> int:
        asked = _loop_time()
        taken = await claim
        programs = {version: await self._found_program(version) for version in _versions(taken)}
        unread: list[OwnedExecution] = []
        for owned in taken:
            program = programs[owned.version_id]
            if program is None:
                continue
            try:
                live, todo = await self._taken_over(owned, program)
            except NotWritten:
                unread.append(owned)
            except Exception:
                # Of this one nothing can be made; its lease runs out, and the others are not to wait for it.
                log.exception("execution %s cannot be taken up", owned.id)
                await self._give_up(owned, program)
            else:
                self._observer.taken(live, self._lateness(live))
                self._spawn(live, todo, asked)
        unloaded = [owned for owned in taken if programs[owned.version_id] is None]
        await self._put_off(unloaded, UNLOADABLE_PAUSE, is_takeover)
        await self._put_off(unread, UNREAD_PAUSE, is_takeover)
        return len(taken)

    async def _put_off(self, taken: Sequence[OwnedExecution], pause: timedelta, is_takeover: bool) -> None:
        """Leave for later what cannot be taken up through no fault of its own: that is no takeover."""
        if taken:
            await until_it_works(
                lambda: self._executions.put_off(taken, pause, is_takeover), NotWritten, _tell_away
            )

    async def _found_program(self, version_id: int) -> Program | None:
        try:
            program = await self._program(version_id)
        except Exception:
            # One line for all of its executions, however often it is tried until it works.
            if version_id not in self._unloadable:
                log.exception("executions of version %s cannot be taken up", version_id)
            self._unloadable.add(version_id)
            return None
        self._unloadable.discard(version_id)
        return program

    def _lateness(self, live: Live) -> timedelta | None:
        """How long after its time it was taken up; None: it was taken up for another reason."""
        due, now = live.state.resume_at, self._clock.now()
        return now - due if due is not None and due <= now else None

    async def _taken_over(self, owned: OwnedExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
        live, todo = await self._rebuilt(owned, program)
        if owned.takeovers <= self._most_takeovers:
            return live, todo
        return live, live.happen(GivenUp(self._poisoned), self._clock.now())

    @property
    def _poisoned(self) -> Failure:
        return Failure("Poisoned", f"taken over {self._most_takeovers} times without making progress")

    async def _give_up(self, owned: OwnedExecution, program: Program) -> None:
        """End one that cannot even be taken up, as it is, if that has been tried often enough."""
        if owned.takeovers > self._most_takeovers:
            with suppress(Lost, NotWritten):
                await self._executions.write(_end_as_it_is(owned, program, self._poisoned))
                self.look_now()

    async def _rebuilt(self, owned: OwnedExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
        while True:
            try:
                return take_over(owned, program)
            except Unread as unread:
                values = await self._executions.large_values(owned.id, unread.digests)
                if not values:
                    raise
                owned = with_values(owned, values)

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
        if self.is_retired:
            live.hand_on()
        task = asyncio.create_task(self._drive(live, todo))
        self._driven[live.facts.id] = _Driven(live, task)

    async def _drive(self, live: Live, todo: Iterable[Todo]) -> Checkpoint | None:
        execution_id = live.facts.id
        try:
            return await self._driver.drive(live, todo)
        except Lost:
            self._observer.lost(live)
            log.info("execution %s was taken over by another instance", execution_id)
            return None
        except Exception:
            # The boundary of one execution: a mistake in it ends neither the others nor this instance.
            log.exception("execution %s is left to its next owner", execution_id)
            return None
        finally:
            # One that parked and came due at once may have been claimed anew, by a task of its own.
            driven = self._driven.get(execution_id)
            if driven is not None and driven.live is live:
                del self._driven[execution_id]
            if live.concerns_others:
                self.look_now()


def _end_as_it_is(owned: OwnedExecution, program: Program, failure: Failure) -> Progress:
    return Progress(
        execution_id=owned.id,
        fence=owned.fence,
        rows=(),
        checkpoint=Checkpoint(ExecutionStatus.FAILED, owned.context, owned.state, failure=failure),
        # Its state cannot be read, so nobody knows here what waits.
        closes=Closing((), failure.message, everything=True),
        parent_id=owned.parent_id,
        is_limited=program.concurrency is not None,
    )


def _versions(taken: Sequence[OwnedExecution]) -> set[int]:
    return {owned.version_id for owned in taken}


def _tell_away(away: Exception) -> None:
    log.warning("what cannot be taken up cannot be put off yet: %s", away)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
