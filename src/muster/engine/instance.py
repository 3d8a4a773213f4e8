"""One running instance: it starts executions, takes up what is due or abandoned, and drives what it owns."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from math import inf

from muster.engine.at_hand import AtHand, NothingAtHand
from muster.engine.dock import Dock
from muster.engine.drive import Driver
from muster.engine.finishing import Finished, Finishing
from muster.engine.limits import limit_of
from muster.engine.lines import about_execution
from muster.engine.live import Live
from muster.engine.observer import Nobody, Observer
from muster.engine.owned import Begun, Checkpoint, Ended, NewExecution, OwnedExecution
from muster.engine.ports import Executions, Lost, NotWritten
from muster.engine.program import Program
from muster.engine.rebuilding import begin
from muster.engine.search import terms_of
from muster.engine.state import ExecutionStatus, Todo
from muster.engine.taking import Taking
from muster.engine.trials import MOST_TAKEOVERS
from muster.kit.clock import Clock, passed
from muster.kit.loop import Loop
from muster.kit.tasks import ended

CLAIMED_AT_ONCE = 500
LOOK_EVERY = 1.0
LOOK_AT_QUEUED_EVERY = 30.0
LETTING_GO_SECONDS = 5.0
# A moment: until then others have had their turn, or a place has become free.
SOON = 0.02
NEXT_TRIAL = 0.05
MOST_DRIVEN = 10_000

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
    """Owns executions and drives each in a task of its own, `most_driven` at once.

    `program` finds the program of a version. Whoever `start`s an execution has it durable when told so.
    `alone`: nobody else can be using the database, so whatever anybody held is this instance's. What was
    taken over more than `most_takeovers` times without making progress is given up; `trials` says how those
    are driven before that. It `ring`s for the others where something is due that it does not take itself.
    What makes no progress here for longer than `stuck_after` is left to whoever takes it over. For what it is
    not told of it looks every `look_every` seconds. `kept_program` gives a program that need not be read.
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
        most_driven: int = MOST_DRIVEN,
        ring: Callable[[], None] | None = None,
        at_hand: AtHand | None = None,
        stuck_after: timedelta | None = None,
        look_every: float = LOOK_EVERY,
        kept_program: Callable[[int], Program | None] | None = None,
    ) -> None:
        self._look_every = look_every
        self._stuck_after = inf if stuck_after is None else stuck_after.total_seconds()
        self._ring = ring or _nobody_hears
        self._at_hand = at_hand or NothingAtHand()
        self._earlier = "" if alone else f"{name.instance}/"
        self._renew_every = lease.total_seconds() / 3
        self._most_driven = most_driven
        self.name = name
        self._executions = executions
        self._driver = driver
        self._program = program
        self._clock = clock
        self._observer = observer or Nobody()
        self._finishing = Finishing(driver, kept_program, self._observer, self._at_hand)
        self._taking = Taking(executions, program, clock, most_takeovers, self.look_now, self._at_hand)
        self._has_ended_leases = False
        self._has_tried = False
        self._renewed = 0.0
        self._retired: float | None = None
        self._driven: dict[str, _Driven] = {}
        self._dock = Dock(most_takeovers, self._driven)
        self._beginning: set[asyncio.Task[object]] = set()
        self._due = Loop("due executions", self.due_pass, (NotWritten,))
        self._abandoned = Loop("abandoned executions", self._abandoned_pass, (NotWritten,))
        self._signals = Loop("signals", self._signals_pass, (NotWritten,))
        self._leases = Loop("leases", self._lease_pass, (NotWritten,))
        self._queued = Loop("queued executions", self._queued_pass, (NotWritten,))

    async def start(self, new: NewExecution) -> Begun:
        """Begin an execution: durable when this returns, and under way, or ready for whoever looks next if
        this instance takes no work or has enough, or queued; or another has its key. Raises `NotWritten`, or
        `BadConcurrencyKey`."""
        program, asked = await self._program(new.version_id), passed()
        if program.search:
            new = new._replace(terms=terms_of(program.search, new.context))
        if program.concurrency is not None:
            limit = limit_of(program.concurrency, new.workflow_id, new.context, new.started_at)
            new = new._replace(limit=limit)
        is_ours = self._places > 0 and not self._dock.is_head_start
        if is_ours and program.only_computes and new.limit is None and not new.terms:
            live, todo = begin(new, program)
            ended = await self._driver.compute_all(live, todo)
            if ended is not None:
                return await self._start_ended(new._replace(ended=ended), live, ended)
        # Whoever stops waiting does not undo it: what has begun is under way.
        starting = asyncio.create_task(self._start(new, program, is_ours, asked))
        self._see_to_it(starting)
        return await asyncio.shield(starting)

    async def _start(self, new: NewExecution, program: Program, is_ours: bool, asked: float) -> Begun:
        begun = await self._executions.start(new if is_ours else new._replace(owner=None))
        if begun.duplicate:
            self._observer.skipped(new, program)
            return begun
        self._observer.started(new, program)
        if begun.status is ExecutionStatus.RUNNING:
            self._spawn(*begin(new, program), asked) if is_ours else self._ring()
        return begun

    async def _start_ended(self, new: NewExecution, live: Live, ended: Ended) -> Begun:
        """What has ended before anybody knew of it is written once."""
        begun = await self._executions.start(new)
        if begun.duplicate:
            self._observer.skipped(new, live.program)
        else:
            self._observer.started(new, live.program)
            self._observer.progressed(live, ended.rows, ended.checkpoint)
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
        if self._places <= 0:
            self._ring()

    def look_now(self) -> None:
        """Look for what is due, and for what has reached executions that are driven here, without waiting
        for what is found."""
        self.wake()
        self._signals.wake()

    def hear_due(self) -> None:
        """Another says that something is due."""
        self._due.wake()

    def hear_lease_end(self) -> None:
        """Somebody has seen that a lease ends."""
        self._abandoned.wake()

    def hear_reached(self) -> None:
        """Another says that something has reached what this one holds."""
        self._signals.wake()

    def doubt_leases(self) -> None:
        """Ask the database now whose executions these are: somebody has reason to think that not all are this
        instance's."""
        self._leases.wake()

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
            self._retired = passed()
            for driven in self._driven.values():
                driven.live.hand_on()

    async def leave(self, seconds: float) -> None:
        """Let nodes that run finish until so many seconds after `retire`, and let go of everything: of what
        takes longer, too. Whoever looks next goes on from the journal."""
        self.retire()
        assert self._retired is not None, "it has just retired"
        with suppress(TimeoutError):
            async with asyncio.timeout(self._retired + seconds - passed()):
                await self._due.stop()
                await self._abandoned.stop()
                while under_way := self._under_way:
                    await asyncio.wait(under_way)
        await ended(*self._under_way)
        await self._let_go()

    @property
    def _under_way(self) -> list[asyncio.Task[object]]:
        return [*self._beginning, *(driven.task for driven in self._driven.values())]

    async def _let_go(self) -> None:
        try:
            async with asyncio.timeout(LETTING_GO_SECONDS):
                if await self._executions.release(self.name.owner):
                    self._ring()
        except (NotWritten, TimeoutError) as away:
            log.warning("what this instance holds is free when its leases have run out: %s", away)
        except Exception:
            # The last thing that an instance does: whatever goes wrong in it, the rest is to end in order.
            log.exception("what this instance holds is free when its leases have run out")

    # --- passes: each answers how many it took ------------------------------------------------------

    async def take_back(self) -> int:
        """Take over from whoever is gone; what earlier incarnations of this instance held, without waiting
        for their leases."""
        await self._end_leases()
        return await self.take_abandoned()

    async def _end_leases(self) -> None:
        await self._executions.end_leases(self.name.owner, self._earlier)
        self._has_ended_leases = True

    async def take_due(self) -> int:
        """Resume what has come due."""
        limit = min(CLAIMED_AT_ONCE, self._places)
        if limit <= 0:
            return 0
        return await self._take(self._executions.claim_due(self.name.owner, limit), is_takeover=False)

    async def take_abandoned(self) -> int:
        """Take over from instances that are gone."""
        return await self.take_suspects() + await self._take_over(0)

    async def take_suspects(self) -> int:
        """Take over what was taken over before and has come no further, the longest abandoned first: as many
        as may be tried together."""
        suspects = await self._executions.suspects()
        waited = self._dock.waited(suspects)
        if suspects is None:
            return 0
        taken = await self._take_over(suspects.takeovers, suspects.number, waited)
        if taken >= suspects.number:
            self._dock.nobody_waits()
        return taken

    async def _take_over(self, takeovers: int, waiting: int = 1, seconds: float = 0.0) -> int:
        """What was taken over so often before; so many wait for it, for so long."""
        tried = self._dock.room(takeovers, waiting, seconds)
        limit = min(CLAIMED_AT_ONCE if tried is None else tried, self._places)
        if limit <= 0:
            return 0
        claim = self._executions.claim_abandoned(self.name.owner, limit, takeovers)
        return await self._take(claim, is_takeover=True)

    @property
    def _places(self) -> int:
        """How many more it can drive."""
        return 0 if self.is_retired else self._most_driven - len(self._driven)

    async def admit_queued(self) -> int:
        """Look again at what is queued."""
        admitted = await self._executions.admit_queued(CLAIMED_AT_ONCE)
        if admitted:
            self.wake()
        return admitted

    def leave_stuck(self) -> int:
        """Stop driving what makes no progress: its lease runs out, and it is taken over, as often as that may
        happen. How many these were."""
        now = passed()
        stuck = [each for each in self._driven.values() if now - each.live.progressed > self._stuck_after]
        for driven in stuck:
            log.warning(
                "execution %s has made no progress for %.0f s, and is left to its next owner",
                driven.live.facts.id,
                self._stuck_after,
                extra=about_execution(driven.live.facts),
            )
            driven.task.cancel()
            del self._driven[driven.live.facts.id]
        return len(stuck)

    async def renew(self) -> None:
        """Keep what is owned."""
        held, asked = [driven.live for driven in self._driven.values()], passed()
        if held:
            mine = set(await self._executions.renew(self.name.owner, [live.facts.id for live in held]))
            for live in held:
                if live.facts.id in mine:
                    live.confirmed = asked
        self._renewed = asked

    # --- timetables ------------------------------------------------------------------------------------

    async def due_pass(self) -> float:
        """Sleep until the next that is known to be due; and look now and then for what is not known."""
        if self.is_retired:
            return LOOK_EVERY
        if self._dock.is_head_start or self._places <= 0 or not self._has_ended_leases:
            return SOON
        left = self._seconds(await self._executions.next_due())
        if left > 0:
            return left
        # What is due and was not to be had is in somebody's hands at this moment.
        return 0.0 if await self.take_due() else SOON

    async def _abandoned_pass(self) -> float:
        if passed() - self._renewed > self._renew_every * 2:
            # The database was away, or this process asleep: nobody is to take over from itself.
            await self.renew()
        if not self._has_ended_leases:
            # Once, at the start: another that has this name by mistake is robbed only once.
            await self._end_leases()
        if self._dock.is_head_start:
            return SOON
        if (left := self._seconds(await self._executions.next_lease_end())) > 0:
            return left
        if not self._has_tried and await self.take_suspects():
            self._has_tried = True
            self._dock.give_head_start()
            return SOON
        # Now those who have waited for it, and whatever is due; then perhaps others are tried.
        has_tried, self._has_tried = self._has_tried, False
        if await self._take_over(0) == CLAIMED_AT_ONCE:
            return 0.0
        return NEXT_TRIAL if has_tried else LOOK_EVERY

    def _seconds(self, left: timedelta | None) -> float:
        """For how long nothing comes that is known of, as long as one may sleep."""
        return self._look_every if left is None else min(left.total_seconds(), self._look_every)

    async def _signals_pass(self) -> float:
        await self.take_signals()
        return LOOK_EVERY

    async def _queued_pass(self) -> float:
        """Whoever ends lets the next one in by itself: this is for what no end tells of."""
        return 0.0 if await self.admit_queued() else LOOK_AT_QUEUED_EVERY

    async def _lease_pass(self) -> float:
        self.leave_stuck()
        await self.renew()
        return self._renew_every

    async def _take(self, claim: Awaitable[Sequence[OwnedExecution]], is_takeover: bool) -> int:
        asked = passed()
        taken = await claim
        await self._take_up(taken, asked, is_takeover)
        return len(taken)

    def takes_as(self) -> str | None:
        """The owner for whom to claim what goes on now; None: nothing is to be claimed for this instance."""
        has_room = self._has_ended_leases and self._places > 0
        return self.name.owner if has_room and not self._dock.is_head_start else None

    def take_up(self, taken: Sequence[OwnedExecution], asked: float) -> None:
        """Go on with what was claimed for this instance by whoever let it go on."""
        self._see_to_it(asyncio.create_task(self._take_up(taken, asked, is_takeover=False)))

    def finish(self, owned: OwnedExecution) -> Finished | None:
        return self._finishing.finish(owned)

    def has_finished(self, finished: Finished) -> None:
        self._finishing.has_finished(finished)

    def _see_to_it(self, beginning: asyncio.Task[object]) -> None:
        self._beginning.add(beginning)
        beginning.add_done_callback(self._has_begun)

    def _has_begun(self, beginning: asyncio.Task[object]) -> None:
        self._beginning.discard(beginning)
        if not beginning.cancelled() and (error := beginning.exception()) is not None:
            # Who waits for it is told, too.
            log.info("something could not begin here: %s", type(error).__name__)

    async def _take_up(self, taken: Sequence[OwnedExecution], asked: float, is_takeover: bool) -> None:
        for live, todo in await self._taking.take_up(taken, is_takeover):
            self._observer.taken(live, self._lateness(live))
            self._spawn(live, todo, asked)

    def _lateness(self, live: Live) -> timedelta | None:
        """How long after its time it was taken up; None: it was taken up for another reason."""
        due, now = live.state.resume_at, self._clock.now()
        return now - due if due is not None and due <= now else None

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
        live.confirmed = live.progressed = asked
        if self.is_retired:
            live.hand_on()
        task = asyncio.create_task(self._drive(live, todo))
        self._driven[live.facts.id] = _Driven(live, task)
        self._at_hand.took(live)
        self._dock.began(live)

    async def _drive(self, live: Live, todo: Iterable[Todo]) -> Checkpoint | None:
        execution_id = live.facts.id
        try:
            return await self._driver.drive(live, todo)
        except Lost:
            self._observer.lost(live)
            told = about_execution(live.facts)
            log.info("execution %s was taken over by another instance", execution_id, extra=told)
            return None
        except Exception:
            # The boundary of one execution: a mistake in it ends neither the others nor this instance.
            told = about_execution(live.facts)
            log.exception("execution %s is left to its next owner", execution_id, extra=told)
            return None
        finally:
            # One that parked and came due at once may have been claimed anew, by a task of its own.
            driven = self._driven.get(execution_id)
            if driven is not None and driven.live is live:
                del self._driven[execution_id]
            self._at_hand.let_go(live)
            if live.concerns_others:
                self.look_now()
            if live.handed_on:
                self._ring()


def _nobody_hears() -> None:
    """There is no way to tell others: they look every second."""
