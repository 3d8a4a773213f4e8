"""Executions that an answer lets go on, and of which nothing but computing is left: computed to their ends
before anything is written, so that their end is written with the answer."""

from collections.abc import Callable
from dataclasses import dataclass

from muster.engine.at_hand import AtHand
from muster.engine.drive import Driver
from muster.engine.live import Live
from muster.engine.observer import Observer
from muster.engine.owned import Ended, OwnedExecution
from muster.engine.program import Program
from muster.engine.rebuilding import may_be_limited, take_over


@dataclass(frozen=True, slots=True)
class Finished:
    """An execution that was computed to its end, under the fence of who would have claimed it."""

    live: Live
    ended: Ended

    @property
    def id(self) -> str:
        return self.live.facts.id


class Finishing:
    """`kept_program` gives a program that need not be read."""

    def __init__(
        self,
        driver: Driver,
        kept_program: Callable[[int], Program | None] | None,
        observer: Observer,
        at_hand: AtHand,
    ) -> None:
        self._driver, self._kept_program = driver, kept_program
        self._observer, self._at_hand = observer, at_hand

    def finish(self, owned: OwnedExecution) -> Finished | None:
        """An execution that something has reached, computed to its end. None: that takes more."""
        program = self._kept_program(owned.version_id) if self._kept_program else None
        if program is None or not _concerns_itself_alone(owned, program):
            return None
        try:
            live, todo = take_over(owned, program)
            ended = None if todo or not _only_computes(live) else self._driver.finish(live)
        except Exception:
            # Whoever takes it up the usual way reads what is missing, or says what is wrong with it.
            return None
        return None if ended is None else Finished(live, ended)

    def has_finished(self, finished: Finished) -> None:
        """It is written: tell those who want to know."""
        live, ended = finished.live, finished.ended
        self._observer.taken(live, None)
        self._observer.progressed(live, ended.rows, ended.checkpoint)
        self._at_hand.stands(live, ended.rows, ended.checkpoint)


def _concerns_itself_alone(owned: OwnedExecution, program: Program) -> bool:
    """Whether all of it is there, and its end is nobody's but its own."""
    told = program.watched or program.in_cache or program.search
    others = owned.parent_id is not None or may_be_limited(owned, program)
    return not (told or others or owned.takeovers or owned.has_asides or owned.is_light)


def _only_computes(live: Live) -> bool:
    """Whether nothing but computing can follow from where it stands."""
    tokens = live.state.tokens
    return len(tokens) == 1 and tokens[0].node in live.program.computes_after
