"""Taking up executions that were claimed: rebuilt, given up, or put off until they can be."""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from muster.engine.at_hand import AtHand, NothingAtHand
from muster.engine.lines import about
from muster.engine.live import Live
from muster.engine.openings import Closing, InVain
from muster.engine.owned import Checkpoint, OwnedExecution, Progress
from muster.engine.ports import Executions, Lost, NotWritten
from muster.engine.program import Program
from muster.engine.rebuilding import may_be_limited, take_over, with_values
from muster.engine.state import ExecutionStatus, Failure, GivenUp, Todo
from muster.engine.trials import is_given_up
from muster.kit.backoff import until_it_works
from muster.kit.clock import Clock
from muster.model.aside import Unread

# A version that cannot be loaded wants a person, and what a store that was away keeps only a moment.
UNLOADABLE_PAUSE = timedelta(minutes=1)
UNREAD_PAUSE = timedelta(seconds=1)

log = logging.getLogger(__name__)

TakenUp = tuple[Live, tuple[Todo, ...]]


class Taking:
    """Makes claimed executions ready to be driven. What was taken over more than `most_takeovers` times
    without making progress is given up; `tell` hears of an end that was written here."""

    def __init__(
        self,
        executions: Executions,
        program: Callable[[int], Awaitable[Program]],
        clock: Clock,
        most_takeovers: int,
        tell: Callable[[], None],
        at_hand: AtHand | None = None,
    ) -> None:
        self._at_hand = at_hand or NothingAtHand()
        self._executions, self._program, self._clock = executions, program, clock
        self._most_takeovers, self._tell = most_takeovers, tell
        self._unloadable: set[int] = set()

    async def take_up(self, taken: Sequence[OwnedExecution], is_takeover: bool) -> list[TakenUp]:
        """Those that can be driven, and what each is to do first. What cannot be taken up through no fault of
        its own is due again later, and that is no takeover."""
        ready: list[TakenUp] = []
        unread: list[OwnedExecution] = []
        unloaded: list[OwnedExecution] = []
        try:
            taken = await self._at_hand.filled(taken, self._executions)
        except NotWritten:
            await self._put_off(taken, UNREAD_PAUSE, is_takeover)
            return []
        for version, same in _by_version(taken).items():
            try:
                program = await self._found_program(version)
            except NotWritten:
                unread += same
                continue
            if program is None:
                unloaded += same
                continue
            if program.in_cache and is_takeover:
                same = list(await self._at_hand.recovered(same))
            for owned in same:
                try:
                    ready.append(await self._taken_over(owned, program))
                except NotWritten:
                    unread.append(owned)
                except Exception:
                    # Nothing can be made of it; its lease runs out, and the others are not to wait for it.
                    told = about(owned.id, owned.trace, owned.workflow_id)
                    log.exception("execution %s cannot be taken up", owned.id, extra=told)
                    await self._give_up(owned, program)
        await self._put_off(unloaded, UNLOADABLE_PAUSE, is_takeover)
        await self._put_off(unread, UNREAD_PAUSE, is_takeover)
        return ready

    async def _found_program(self, version_id: int) -> Program | None:
        """None: it cannot be loaded. Raises `NotWritten` where the store is away."""
        try:
            program = await self._program(version_id)
        except NotWritten:
            raise
        except Exception:
            # One line for all of its executions, however often it is tried until it works.
            if version_id not in self._unloadable:
                log.exception("executions of version %s cannot be taken up", version_id)
            self._unloadable.add(version_id)
            return None
        self._unloadable.discard(version_id)
        return program

    async def _taken_over(self, owned: OwnedExecution, program: Program) -> TakenUp:
        live, todo = await self._rebuilt(owned, program)
        if not await self._is_given_up(owned):
            return live, todo
        live.takeovers = 0  # it is on trial no more
        return live, live.happen(GivenUp(_poisoned(owned)), self._clock.now())

    async def _is_given_up(self, owned: OwnedExecution) -> bool:
        if owned.takeovers <= self._most_takeovers:
            return False
        starts = await self._executions.starts_since_takeover(owned.id)
        return is_given_up(owned.takeovers, starts, self._most_takeovers)

    async def _give_up(self, owned: OwnedExecution, program: Program) -> None:
        """End one that cannot even be taken up, as it is, if that has been tried often enough."""
        if owned.takeovers > self._most_takeovers:
            with suppress(Lost, NotWritten):
                end = _end_as_it_is(owned, program, _poisoned(owned))
                await self._executions.give_up_held(InVain(owned.id, owned.fence, end.closes))
                await self._executions.write(end)
                self._at_hand.gave_up(owned, list(program.graph.nodes))
                self._tell()

    async def _rebuilt(self, owned: OwnedExecution, program: Program) -> TakenUp:
        while True:
            try:
                return take_over(owned, program)
            except Unread as unread:
                values = await self._executions.large_values(owned.id, unread.digests)
                if not values:
                    raise
                owned = with_values(owned, values)

    async def _put_off(self, taken: Sequence[OwnedExecution], pause: timedelta, is_takeover: bool) -> None:
        if taken:
            await until_it_works(
                lambda: self._executions.put_off(taken, pause, is_takeover), NotWritten, _tell_away
            )


def _poisoned(owned: OwnedExecution) -> Failure:
    return Failure("Poisoned", f"taken over {owned.takeovers - 1} times without making progress")


def _end_as_it_is(owned: OwnedExecution, program: Program, failure: Failure) -> Progress:
    return Progress(
        execution_id=owned.id,
        fence=owned.fence,
        rows=(),
        checkpoint=Checkpoint(ExecutionStatus.FAILED, owned.context, owned.state, failure=failure),
        # Its state cannot be read, so nobody knows here what waits.
        closes=Closing((), failure.message, everything=True),
        parent_id=owned.parent_id,
        is_limited=may_be_limited(owned, program),
    )


def _by_version(taken: Sequence[OwnedExecution]) -> dict[int, list[OwnedExecution]]:
    found: dict[int, list[OwnedExecution]] = defaultdict(list)
    for owned in taken:
        found[owned.version_id].append(owned)
    return found


def _tell_away(away: Exception) -> None:
    log.warning("what cannot be taken up cannot be put off yet: %s", away)
