"""Driving one execution: do what `advance` says, write down what came of it, ask again.

Pure nodes are computed here and now, and their rows go with the next commit. What an effect did is durable
before anything follows from it. All that settles while a commit is under way shares the next one.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import inf

from muster.engine.announcing import announcements
from muster.engine.at_hand import AtHand, NothingAtHand
from muster.engine.attempt import Attempts, Settled
from muster.engine.checkpoints import checkpoint_of
from muster.engine.dedupe import settles
from muster.engine.doubt import BEGUN
from muster.engine.external_tasks import ExternalTaskOpening
from muster.engine.handlers import Reported
from muster.engine.journal import JournalRow
from muster.engine.lines import about_execution
from muster.engine.live import Live
from muster.engine.observer import Nobody, Observer
from muster.engine.openings import ApprovalOpening, Closing, EventWaitDone, InVain, Opening
from muster.engine.owned import Checkpoint, Ended, Progress
from muster.engine.ports import Executions, NotWritten
from muster.engine.reading import read_into
from muster.engine.recording import record
from muster.engine.state import (
    Event,
    ExecutionStatus,
    Failure,
    Finish,
    Phase,
    Run,
    Todo,
    Undo,
    Woken,
)
from muster.engine.writing import write_until_written
from muster.kit.backoff import until_it_works
from muster.kit.clock import Clock
from muster.model.aside import Unread
from muster.model.execution import NodeStatus
from muster.model.node_type import NodeKind

PURE_STEPS_IN_A_ROW = 100
SHORT_DELAY = timedelta(seconds=1)

log = logging.getLogger(__name__)


class Driver:
    """Drives executions that this instance owns. `chance` gives the jitter of retries, from 0 to 1. What
    watched workflows do is told on the topic `events`."""

    def __init__(
        self,
        executions: Executions,
        attempts: Attempts,
        clock: Clock,
        chance: Callable[[], float],
        observer: Observer | None = None,
        at_hand: AtHand | None = None,
        events: str | None = None,
    ) -> None:
        self._executions = executions
        self._attempts = attempts
        self._at_hand = at_hand or NothingAtHand()
        self._clock = clock
        self._chance = chance
        self._observer = observer or Nobody()
        self._events = events

    async def drive(self, live: Live, todo: Iterable[Todo]) -> Checkpoint:
        """Go on until the execution parks or ends, and let go of it: the answer is where it stands then.
        Raises `Lost` if it is another's."""
        under_way: list[asyncio.Task[Settled]] = []  # in their order: what settles together is told in it
        try:
            while True:
                effects = await self._compute(live, todo)
                if not effects and not under_way and not self._goes_on_shortly(live):
                    return await self._let_go(live)
                begun = self._announce(live, effects)
                # Durable before anything follows from it; what parks or ends writes it with its checkpoint.
                if live.owes_a_write or live.closing():
                    await self._keep(live)
                if live.handed_on:
                    # What is said to have begun has to begin, or somebody would be asked about nothing.
                    effects = begun
                    if not effects and not under_way:
                        return await self._let_go(live)
                if len(effects) == 1 and len(live.state.tokens) == 1:
                    # Nothing else can happen meanwhile, so it needs no task of its own.
                    settled = [await self._attempts.run(live, effects[0])]
                else:
                    under_way += [self._begin(live, effect) for effect in effects]
                    settled, under_way = await self._wait(live, under_way)
                # One time for both: what comes due in between must not be woken before it is closed.
                now = self._now(live)
                await self._expire(live, now)
                todo = await self._take(live, settled, now)
        finally:
            for task in under_way:
                _stop(task)

    async def compute_all(self, live: Live, todo: Iterable[Todo]) -> Ended | None:
        """An execution that nobody knows of yet, from its start to its end; None, where it does not complete
        by a few steps that only compute. Nothing is written of it."""
        if await self._compute(live, todo, PURE_STEPS_IN_A_ROW) or live.opens or live.closes:
            return None
        if live.state.status is not ExecutionStatus.COMPLETED:
            return None
        checkpoint = checkpoint_of(live, self._clock.now())
        # What fails, if only by its output, leaves more behind than its rows.
        return Ended(tuple(live.rows), checkpoint) if checkpoint.failure is None else None

    def finish(self, live: Live) -> Ended | None:
        """An execution that something has reached, from there to its end; None, where it does not complete by
        a few steps that only compute. Nothing is written of it. Raises `Unread`."""
        now = self._now(live)
        if any(token.due and token.due <= now for token in live.state.tokens):
            return None
        ahead = deque(todo for event in live.take_signals() for todo in live.happen(event, now))
        for _ in range(PURE_STEPS_IN_A_ROW):
            if not ahead:
                break
            match ahead.popleft():
                case Run() as run if self._attempts.computes(live, run):
                    ahead += live.happen(*self._note(live, self._attempts.compute(live, run)))
                case Finish():
                    continue
                case _:
                    return None
        if ahead or live.closing() or live.state.status is not ExecutionStatus.COMPLETED:
            return None
        checkpoint = checkpoint_of(live, self._clock.now())
        # Who goes on from a wait says so; whatever else is opened is not written here.
        is_all = checkpoint.failure is None and all(isinstance(each, EventWaitDone) for each in live.opens)
        return Ended(tuple(live.rows), checkpoint) if is_all else None

    async def _compute(self, live: Live, todo: Iterable[Todo], most: float = inf) -> list[Run | Undo]:
        """Compute what is pure and all that follows from it, `most` steps; answer what is left to do."""
        ahead, effects, steps = deque(todo), list[Run | Undo](), 0
        while ahead:
            match ahead.popleft():
                case Finish():
                    continue
                case Run() as run if steps < most and self._attempts.computes(live, run):
                    settled = await self._computed(live, run)
                    ahead += await self._happened(live, *self._note(live, settled))
                    steps += 1
                    if steps % PURE_STEPS_IN_A_ROW == 0:
                        await asyncio.sleep(0)  # others are to have their turn, however long this loops
                case effect:
                    effects.append(effect)
        return effects

    async def _computed(self, live: Live, run: Run) -> Settled:
        while True:
            try:
                return self._attempts.compute(live, run)
            except Unread as unread:
                await read_into(live, self._executions, unread.digests)

    async def _happened(self, live: Live, event: Event, at: datetime) -> tuple[Todo, ...]:
        """Take an event; what deciding reads is read first."""
        while True:
            try:
                return live.happen(event, at)
            except Unread as unread:
                await read_into(live, self._executions, unread.digests)

    def _announce(self, live: Live, effects: list[Run | Undo]) -> list[Run | Undo]:
        """Put the starts into the journal of those that must not be repeated unasked, and say which."""
        if not live.program.asks or live.handed_on:
            return []
        begun = [effect for effect in effects if isinstance(effect, Run) and effect.node in live.program.asks]
        now = self._clock.now()
        for run in begun:
            live.seq += 1
            at = live.began.setdefault((run.node, run.visit), now)
            live.rows.append(JournalRow(run.node, run.visit, "", live.seq, run.attempt, BEGUN, at))
        live.owes_a_write = live.owes_a_write or bool(begun)
        return list[Run | Undo](begun)

    def _begin(self, live: Live, effect: Run | Undo) -> asyncio.Task[Settled]:
        task = asyncio.create_task(self._attempts.run(live, effect))
        task.add_done_callback(live.disturb)
        return task

    async def _wait(
        self, live: Live, under_way: list[asyncio.Task[Settled]]
    ) -> tuple[list[Settled], list[asyncio.Task[Settled]]]:
        """Wait until something has settled, a signal has come, or a parked token is due."""
        if not live.arrived and not any(task.done() for task in under_way):
            due = live.state.resume_at
            await live.rest(None if due is None else (due - self._now(live)).total_seconds())
        settled = [task for task in under_way if task.done()]
        return [task.result() for task in settled], [task for task in under_way if not task.done()]

    async def _take(self, live: Live, settled: list[Settled], now: datetime) -> list[Todo]:
        """Take what has settled, what has reached the execution and what is due by now, and say what
        follows."""
        # Signals first: who says "hold" while a node runs means that nothing is to follow from it.
        signals = live.take_signals()
        outcomes = [self._note(live, one) for one in settled]
        live.owes_a_write = live.owes_a_write or bool(outcomes)
        due = [
            Woken(token.node, token.visit) for token in live.state.tokens if token.due and token.due <= now
        ]
        events = [(signal, now) for signal in signals] + outcomes + [(woken, now) for woken in due]
        return [todo for event, at in events for todo in await self._happened(live, event, at)]

    async def _expire(self, live: Live, now: datetime) -> None:
        """Let nobody answer visits any more whose time is over. What was answered before counts, however late
        it is noticed."""
        late = [
            token
            for token in live.state.tokens
            if token.phase is Phase.WAITING and token.correlation and token.due and token.due <= now
        ]
        if not late:
            return
        closing = Closing(tuple((token.node, token.visit) for token in late), "its time was over", at=now)
        await self._give_up(live, closing)
        expire, tell = self._executions.expire, partial(_tell_away, live)
        reached = await until_it_works(lambda: expire(live.facts.id, live.fence, closing), NotWritten, tell)
        live.receive(reached)

    def _note(self, live: Live, settled: Settled) -> tuple[Event, datetime]:
        """Put what has settled into the journal, and say what it means and when it came: the same time for
        the row and for what is decided by it, so that a replay decides alike."""
        now = self._clock.now()
        row, event = record(live, settled, now, self._chance())
        live.rows.append(row)
        live.answers.pop((row.node, row.visit), None)
        outcome, step = settled.outcome, live.program.steps[row.node]
        if step.dedupe is not None and isinstance(settled.todo, Run):
            live.opens += settles(step.dedupe, settled.todo, outcome)
        if isinstance(outcome, Failure):
            retrying = row.status is NodeStatus.RETRYING
            if step.kind is NodeKind.WAIT and not (outcome.keeps_open and retrying):
                live.closes.append((row.node, row.visit))
            if isinstance(outcome, Reported):
                live.opens += outcome.opens if retrying else (*outcome.opens, *outcome.buries)
        elif outcome.opens:
            live.opens += (_until(opening, row.due) for opening in outcome.opens)
            live.owes_a_write = True
        return event, now

    def _goes_on_shortly(self, live: Live) -> bool:
        """Whether waiting here is better than parking: a delay of under a second needs no durable timer."""
        if live.handed_on:
            return False
        if live.arrived:
            return True
        due = live.state.resume_at
        if due is None:
            return False
        # What is due is woken where it is held, too: parked with its time, it would be due at once, for ever.
        left = due - self._now(live)
        # What waits for an answer is seen to wait, however little time it has.
        rests = live.state.held or live.state.status is ExecutionStatus.WAITING
        return left <= timedelta(0) or (left <= SHORT_DELAY and not rests)

    def _now(self, live: Live) -> datetime:
        """By a clock that is behind the database's, what was claimed because it is due would be parked again,
        and be due at once."""
        now = self._clock.now()
        return now if live.claimed_at is None else max(now, live.claimed_at)

    async def _let_go(self, live: Live) -> Checkpoint:
        while True:
            try:
                checkpoint = checkpoint_of(live, self._clock.now())
                break
            except Unread as unread:
                await read_into(live, self._executions, unread.digests)
        await self._write(live, checkpoint)
        return checkpoint

    async def _keep(self, live: Live) -> None:
        """Write what has happened; or, where that is enough, tell a cache of it."""
        if not live.may_wait:
            await self._write(live, None)
        else:
            live.owes_a_write = False
            self._at_hand.stands(live, live.rows, None)

    async def _write(self, live: Live, checkpoint: Checkpoint | None) -> None:
        """Write down what is new; before that, end those who wait in vain because of it, if they are many."""
        closes = live.closing()
        if closes is not None:
            await self._give_up(live, closes)
        if checkpoint is not None and live.state.ending and live.facts.parent_id:
            await self._give_up(live, None)
        await self._write_at_once(live, checkpoint, closes)

    async def _give_up(self, live: Live, closes: Closing | None) -> None:
        in_vain, tell = InVain(live.facts.id, live.fence, closes), partial(_tell_not_given_up, live)
        if not await until_it_works(lambda: self._executions.has_long_lists(in_vain), NotWritten, tell):
            return
        if live.state.ending:
            # Durable first: who takes over in the middle of it has to come to the same end.
            await self._write_at_once(live, None, None)
        await until_it_works(lambda: self._executions.give_up_held(in_vain), NotWritten, tell)

    async def _write_at_once(self, live: Live, checkpoint: Checkpoint | None, closes: Closing | None) -> None:
        gone, taken = (tuple(live.taken), ()) if checkpoint else ((), tuple(live.taken.items()))
        facts = live.facts
        progress = Progress(
            execution_id=facts.id,
            fence=live.fence,
            rows=tuple(live.rows),
            checkpoint=checkpoint,
            signals=gone,
            taken=taken,
            opens=(*live.opens, *self._announced(live, checkpoint)),
            closes=closes,
            parent_id=facts.parent_id,
            is_limited=facts.is_limited,
            was_taken_over=live.was_taken_over,
        )
        await write_until_written(self._executions, progress)
        self._observer.progressed(live, progress.rows, checkpoint)
        self._at_hand.stands(live, progress.rows, checkpoint)
        live.written(progress)
        self._attempts.claiming.settled(live, progress.opens)

    def _announced(self, live: Live, checkpoint: Checkpoint | None) -> Iterable[Opening]:
        if self._events is None or not live.program.watched:
            return ()
        ends = checkpoint is not None and checkpoint.status is ExecutionStatus.COMPLETED
        visits = (live.facts, live.program.workflow, live.rows, live.led_to)
        return announcements(*visits, self._events, ends, self._attempts.tracer)


def _tell_not_given_up(live: Live, away: Exception) -> None:
    ids = about_execution(live.facts)
    log.debug("children that wait in vain are not given up yet: %s", away, extra=ids)


def _tell_away(live: Live, away: Exception) -> None:
    log.warning("what has run out cannot be closed yet: %s", away, extra=about_execution(live.facts))


def _stop(task: asyncio.Task[Settled]) -> None:
    """End what is still being done. Whatever it runs into no longer matters to anybody."""
    if task.done():
        _look_away(task)
    else:
        task.add_done_callback(_look_away)
        task.cancel()


def _look_away(task: asyncio.Task[Settled]) -> None:
    if not task.cancelled():
        task.exception()


def _until(opening: Opening, due: datetime | None) -> Opening:
    """What is asked of people and workers, with the time until when they may answer."""
    if isinstance(opening, ApprovalOpening | ExternalTaskOpening):
        return replace(opening, expires_at=due)
    return opening
