"""One attempt at a node: find its handler, give it what it needs, take whatever comes as an outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeVar

from muster.engine.claiming import Claiming
from muster.engine.doubt import doubt
from muster.engine.each import Interrupted, OnItemError, Options, run_each
from muster.engine.handlers import (
    BatchEffect,
    Call,
    Done,
    Effect,
    Handlers,
    Opener,
    Outcome,
    Suspend,
    Visit,
)
from muster.engine.item_journal import ItemJournal, item_row
from muster.engine.items import Body, Item, compile_body, goes_over_a_list, resolved, unfold
from muster.engine.journal import COMPENSATION, JournalRow
from muster.engine.lines import about_call
from muster.engine.live import Live
from muster.engine.masking import NAME as VARS
from muster.engine.masking import NOTHING, Mask, NoSecrets, Secrets, reads_secrets
from muster.engine.openings import Opening
from muster.engine.owned import FIRST_FENCE
from muster.engine.ports import Executions, Lost
from muster.engine.program import NETWORK_RETRY, Step
from muster.engine.reading import read_all_into, read_into
from muster.engine.sizes import bounded
from muster.engine.state import Failure, Phase, Run, Undo
from muster.engine.tracing import Tracer
from muster.engine.view import Layered
from muster.engine.writing import write_until_written
from muster.expr import ExpressionError
from muster.kit.clock import Clock, passed
from muster.kit.faults import without_words
from muster.model.aside import Unread
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind

log = logging.getLogger(__name__)
T = TypeVar("T", bound=Outcome)


class _NotKept(Exception):
    """The store has refused what an opener was to write."""


class Settled(NamedTuple):
    """An attempt that has come to its outcome. `partial` is what a failed one did nevertheless."""

    todo: Run | Undo
    outcome: Outcome
    started_at: datetime
    partial: Json = None


class Attempts:
    """Runs nodes. Whatever a handler does, an attempt ends in an outcome: a mistake in one fails its node,
    with its reason in the log, and disturbs nothing else."""

    def __init__(
        self,
        handlers: Handlers,
        executions: Executions,
        clock: Clock,
        chance: Callable[[], float],
        lease: timedelta,
        secrets: Secrets | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.tracer = tracer
        self._secrets = secrets or NoSecrets()
        self._lease = lease.total_seconds()
        self._handlers = handlers
        self._executions = executions
        self.claiming = Claiming(executions)
        self._clock = clock
        self._chance = chance

    def computes(self, live: Live, run: Run) -> bool:
        """Whether this node only computes, so that it is done here and now."""
        step = live.program.steps[run.node]
        if step.type not in self._handlers.openers:
            return step.kind is not NodeKind.EFFECT
        waker = self._handlers.wakers.get(step.type)
        answer = live.answers.get((run.node, run.visit))
        return waker is not None and run.woken and waker.knows_all(step.node.config, answer)

    def compute(self, live: Live, run: Run) -> Settled:
        step = live.program.steps[run.node]
        started, call = self._call(live, run)
        if live.has_timed_out(run):
            return Settled(run, _late(step), started)
        try:
            outcome, told = self._computed(step, call)
            return Settled(run, bounded(outcome, run.node), started, told)
        except Unread:
            raise
        except ExpressionError as error:
            return Settled(run, Failure("ExpressionError", str(error)), started)
        except Exception as mistake:
            return Settled(run, _mistaken(call, mistake), started)

    def _computed(self, step: Step, call: Call) -> tuple[Outcome, Json]:
        if (waker := self._handlers.wakers.get(step.type)) is not None:
            return waker.go_on(step.node.config, call)
        if step.kind is NodeKind.WAIT:
            return self._handlers.waits[step.type](_parameters(step.body, call), call), None
        return self._handlers.pures[step.type](step.node.config, call), None

    async def run(self, live: Live, todo: Run | Undo) -> Settled:
        """Do something that cannot be undone by computing. Raises `Lost` where another may be doing it."""
        if live.state.has_asides:
            # First of all: what has begun outside cannot be asked again.
            names = None if isinstance(todo, Undo) else live.program.steps[todo.node].reads
            await read_all_into(live, self._executions, names)
        if isinstance(todo, Undo):
            return await self._undo(live, todo)
        step = live.program.steps[todo.node]
        started, plain = await self._called(live, todo)
        if opener := self._handlers.openers.get(step.type):
            if live.has_timed_out(todo):
                return Settled(todo, _late(step), started)
            try:
                opened, told = await self._unmasked(None, plain, self._opener(live, step, opener, plain))
            except Unread:
                await read_all_into(live, self._executions)
                return await self.run(live, todo)
            return Settled(todo, bounded(opened, todo.node), started, told)
        if step.dedupe is not None:
            try:
                instead = await self.claiming.claim(live, step.dedupe, plain)
            except Unread:
                await read_all_into(live, self._executions)
                return await self.run(live, todo)
            if instead is not None:
                return Settled(todo, instead, started)
        call = await self._revealing(plain) if step.reads_secrets else plain
        if isinstance(call, Failure):
            return Settled(todo, call, started)
        effect = self._handlers.effects[step.type]
        try:
            outcome, partial = await self._guarded(step.timeout, call, self._effect(live, step, effect, call))
        except Unread:
            # It read a variable by a name that it made up: once more, with the same key and all values there.
            await read_all_into(live, self._executions)
            return await self.run(live, todo)
        except Interrupted:
            # It goes on from its journal, as soon as it may.
            return Settled(todo, Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now), started)
        if isinstance(outcome, Failure) and outcome.unsure and todo.node in live.program.asks:
            return Settled(todo, doubt(outcome), started)
        return Settled(todo, outcome, started, partial)

    async def _revealing(self, call: Call) -> Call | Failure:
        """The call with the institute's secrets in `_vars`, behind the workflow's own, and their mask."""
        secrets = await self._secrets.of(call.institute_id)
        if isinstance(secrets, Failure):
            return secrets
        own = call.scope.root.get(VARS)
        values: JsonObject = {**secrets, **(own if isinstance(own, dict) else {})}
        scope = replace(call.scope, root=Layered({VARS: values}, call.scope.root))
        return call._replace(scope=scope, mask=Mask(secrets.values()))

    def _check_lease(self, live: Live) -> None:
        """Who was asleep for longer than its lease must not act on what it remembers: somebody else has
        gone on. (The fence stops its writes; nothing could stop its effects.) Asked right before an effect,
        with nothing awaited in between."""
        if passed() - live.confirmed > self._lease:
            raise Lost(f"the lease of execution {live.facts.id} has run out")

    async def _opener(self, live: Live, step: Step, opener: Opener, call: Call) -> tuple[Outcome, Json]:
        async def write(opens: Sequence[Opening], rows: Sequence[JournalRow]) -> None:
            self._check_lease(live)
            try:
                await write_until_written(self._executions, live.progress(rows, opens))
            except Lost:
                raise
            except Exception as error:
                # Trouble of the store is none of the node's: whoever owns the execution next goes on.
                raise _NotKept(f"execution {live.facts.id}: {error}") from error
            if rows:
                live.has_progressed()

        items = unfold(step.body, call.scope, step.item_key)
        at_once = step.body.concurrency if goes_over_a_list(step.body) else None
        reveal = partial(self._revealing, call)
        return await opener(Visit(call, step.node.config, items, at_once, write, reveal))

    async def _effect(
        self, live: Live, step: Step, effect: Effect, call: Call
    ) -> tuple[Done | Failure, Json]:
        if not goes_over_a_list(step.body):
            self._check_lease(live)
            return await effect(_parameters(step.body, call), call), None
        resumed = live.fence > FIRST_FENCE or call.attempt > 1 or call.woken
        journal = ItemJournal(
            self._executions,
            live,
            call.node_id,
            call.visit,
            resumed,
            repeats=call.attempt > 1 or call.woken,
        )
        items = _masked(unfold(step.body, call.scope, step.item_key), call.mask)
        options = _options(step, call, effect)
        run = partial(self._items if options.together == 1 else self._together, live, effect, call)
        return await run_each(items, run, journal, options, live.is_asked_to_stop)

    async def _items(
        self, live: Live, effect: Effect, call: Call, items: Sequence[Item]
    ) -> list[tuple[JournalRow, Done | Failure]]:
        return [await self._item(live, effect, call, item) for item in items]

    async def _item(
        self, live: Live, effect: Effect, call: Call, item: Item
    ) -> tuple[JournalRow, Done | Failure]:
        self._check_lease(live)
        own = self._of_item(call, item)
        started = self._clock.now()
        outcome = await self._item_outcome(effect, own, item)
        return item_row(own, outcome, started, self._clock.now()), outcome

    async def _together(
        self, live: Live, effect: Effect, call: Call, items: Sequence[Item]
    ) -> list[tuple[JournalRow, Done | Failure]]:
        """Many items by one effect. Those whose expressions fail are left out of it."""
        assert isinstance(effect, BatchEffect), "asked before"
        self._check_lease(live)
        started = self._clock.now()
        calls = [self._of_item(call, item) for item in items]
        able = [(item.params, own) for item, own in zip(items, calls, strict=True) if item.params is not None]
        came = iter(await self._batch(effect, call, able))
        now, rows = self._clock.now(), []
        for item, own in zip(items, calls, strict=True):
            outcome = next(came) if item.params is not None else _problem_of(own, item)
            rows.append((item_row(own, outcome, started, now), outcome))
        return rows

    async def _batch(
        self, effect: BatchEffect, call: Call, items: Sequence[tuple[JsonObject, Call]]
    ) -> Sequence[Done | Failure]:
        try:
            came = await effect.together(items)
        except Exception as mistake:
            # Whatever it was, it was in the handler, and so concerns all of them.
            return [_mistaken(call, mistake)] * len(items)
        return [_masked_outcome(outcome, call.mask) for outcome in came]

    def _of_item(self, call: Call, item: Item) -> Call:
        return Call(
            call.execution_id,
            call.workflow_id,
            call.institute_id,
            call.node_id,
            call.visit,
            call.attempt,
            item.scope,
            item.key,
            mask=call.mask,
            fence=call.fence,
            trace=call.trace,
            tracer=call.tracer,
        )

    async def _item_outcome(self, effect: Effect, call: Call, item: Item) -> Done | Failure:
        if item.params is None:
            return _problem_of(call, item)
        outcome, _ = await self._guarded(None, call, _alone(effect(item.params, call)))
        return outcome

    async def _undo(self, live: Live, undo: Undo) -> Settled:
        """Run a node's compensation, again after a failure that may pass."""
        compensate = live.program.steps[undo.node].node.compensate or {}
        config = compensate.get("config")
        effect = self._handlers.effects[str(compensate.get("type")).upper()]
        attempt = 1
        while True:
            started, plain = self._call(live, Run(undo.node, undo.visit, attempt))
            call = await self._revealing(plain) if reads_secrets(config) else plain
            if isinstance(call, Failure):
                return Settled(undo, call, started)
            # A key of its own: the far side has seen the one of what is undone.
            call = call._replace(item_key=COMPENSATION)
            outcome, _ = await self._guarded(None, call, self._compensation(live, effect, config, call))
            delay = _delay_before_next(outcome, attempt, self._chance())
            if delay is None:
                return Settled(undo, outcome, started)
            await asyncio.sleep(delay.total_seconds())
            attempt += 1

    async def _compensation(
        self, live: Live, effect: Effect, config: Json, call: Call
    ) -> tuple[Done | Failure, Json]:
        params = _parameters(compile_body(config if isinstance(config, dict) else {}), call)
        self._check_lease(live)
        return await effect(params, call), None

    async def _guarded(
        self, limit: timedelta | None, call: Call, work: Awaitable[tuple[Done | Failure, Json]]
    ) -> tuple[Done | Failure, Json]:
        outcome, partial = await self._unmasked(limit, call, work)
        return bounded(_masked_outcome(outcome, call.mask), call.node_id), call.mask.value(partial)

    async def _unmasked(
        self, limit: timedelta | None, call: Call, work: Awaitable[tuple[T, Json]]
    ) -> tuple[T | Failure, Json]:
        timer = None if limit is None else asyncio.timeout(limit.total_seconds())
        try:
            if timer is None:
                return await work
            async with timer:
                return await work
        except (Lost, Unread, Interrupted, _NotKept):
            raise
        except ExpressionError as error:
            return Failure("ExpressionError", str(error)), None
        except TimeoutError:
            # The handler may have raised one of its own: something that it waited for took too long.
            expired = timer is not None and timer.expired()
            told = f"took longer than {limit}" if expired else "ran into a timeout of its handler"
            return Failure("Timeout", f"{call.node_id} {told}", retryable=True, unsure=True), None
        except Exception as mistake:
            return _mistaken(call, mistake), None

    async def _called(self, live: Live, run: Run) -> tuple[datetime, Call]:
        try:
            return self._call(live, run)
        except Unread as unread:
            await read_into(live, self._executions, unread.digests)
            return self._call(live, run)

    def _call(self, live: Live, run: Run) -> tuple[datetime, Call]:
        now, facts = self._clock.now(), live.facts
        scope = live.scope(now, run.node, run.visit, run.attempt)
        return now, Call(
            facts.id,
            facts.workflow_id,
            facts.institute_id,
            run.node,
            run.visit,
            run.attempt,
            scope,
            woken=run.woken,
            answer=live.answer(run.node, run.visit) if run.woken else None,
            fence=live.fence,
            depth=facts.depth,
            trace=facts.trace,
            tracer=self.tracer,
        )


async def _alone(effect: Awaitable[Done | Failure]) -> tuple[Done | Failure, Json]:
    return await effect, None


def _late(step: Step) -> Failure:
    # Tried again only where its author says so: what it is tried again for otherwise is another matter.
    again = step.node.retry is not None
    return Failure("Timeout", f"{step.node.id} waited longer than {step.timeout}", retryable=again)


def _problem_of(call: Call, item: Item) -> Failure:
    return call.mask.failure(Failure("ExpressionError", str(item.problem)))


def _masked_outcome(outcome: Done | Failure, mask: Mask) -> Done | Failure:
    if mask is NOTHING:
        return outcome
    if isinstance(outcome, Failure):
        return mask.failure(outcome)
    warnings = tuple(map(mask.text, outcome.warnings))
    masked = mask.value(outcome.output), mask.object(outcome.changes)
    # What it opens is meant for whom it goes to.
    return replace(outcome, output=masked[0], changes=masked[1], warnings=warnings)


def _masked(items: Iterator[Item], mask: Mask) -> Iterator[Item]:
    """The items, under keys that may be kept."""
    return items if mask is NOTHING else (replace(item, key=mask.text(item.key)) for item in items)


def _parameters(body: Body, call: Call) -> JsonObject:
    """The parameters of a node that goes over no list."""
    if body.inner is None and body.decides is None:
        return resolved(body, call.scope)
    item = next(unfold(body, call.scope))
    return item.params if item.params is not None else {}


def _options(step: Step, call: Call, effect: Effect) -> Options:
    on_error = OnItemError(str(step.node.config.get("onItemError", OnItemError.COLLECT)))
    # Who stops at the first failure does not want a batch of others done beside it.
    together = (
        isinstance(effect, BatchEffect)
        and on_error is not OnItemError.STOP
        and effect.does_together(step.node.config)
    )
    return Options(
        on_error=on_error,
        concurrency=1 if together else step.body.concurrency,
        together=step.body.batch if together else 1,
        batch=step.body.batch,
        keyed=step.item_key is not None,
        rest=call.items_path,
    )


def _delay_before_next(outcome: Done | Failure, attempt: int, chance: float) -> timedelta | None:
    if isinstance(outcome, Done):
        return None
    return NETWORK_RETRY.delay_after(attempt, outcome, chance)


def _mistaken(call: Call, mistake: Exception) -> Failure:
    """A handler that raised is a mistake in its code: the log has its kind and where it was, the caller its
    kind. What it says may quote what it was given, which is no line's business."""
    kind, ids = type(mistake).__name__, about_call(call) | {"exception": without_words(mistake)}
    place = (call.execution_id, call.node_id)
    log.error("execution %s, node %s: its handler raised %s", *place, kind, extra=ids)
    told = f"{call.node_id} failed unexpectedly; the log says more"
    return Failure(kind, told, unsure=True)
