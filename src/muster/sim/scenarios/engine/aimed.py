"""One blow, at one question that somebody asks the cache; else nothing goes wrong in such a world."""

from dataclasses import dataclass
from enum import StrEnum

from muster.sim.redis import Fate, SimulatedRedis
from muster.sim.scenarios.engine.caching import Caching
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import Weather
from muster.sim.world import World, current_process

# Longer than a lease, and than a lock is held.
LONG_SECONDS = 4.0


class Blow(StrEnum):
    """`OLD` has what there was when half as many questions had been asked."""

    FLUSHED = "it is flushed"
    FROZEN = "it is frozen"
    LATE = "it answers late"
    LOST = "the question gets lost"
    ANSWER_LOST = "the answer gets lost"
    EMPTY = "it fails over to an empty replica"
    OLD = "it fails over to an old replica"
    CUT_OFF = "who asks cannot reach it for long"
    PARTED = "who asks cannot reach the database for long"
    CRASH = "who asks crashes"
    FLUSHED_AND_CRASH = "it is flushed, and who asks crashes"


# Who fails over closes the connections that were open.
FATES = {
    Blow.LATE: Fate.LATE,
    Blow.LOST: Fate.LOST,
    Blow.ANSWER_LOST: Fate.ANSWER_LOST,
    Blow.EMPTY: Fate.LOST,
}


@dataclass
class Aim:
    """At which question what happens; none, if there is no blow. `asked` is how many there were."""

    at: int = 0
    blow: Blow | None = None
    asked: int = 0


class Still(Weather):
    """Nobody crashes, freezes or loses an answer by chance."""

    @property
    def calm(self) -> bool:
        return True


class AimedRedis(SimulatedRedis):
    def __init__(self, world: World, weather: Weather, aim: Aim) -> None:
        super().__init__(world, lambda: False)
        self._weather, self._aim = weather, aim

    def fate(self, name: str) -> Fate:
        number, self._aim.asked = self._aim.asked, self._aim.asked + 1
        if self._aim.blow is None:
            return Fate.ANSWERED
        if self._aim.blow is Blow.OLD and number == self._aim.at // 2:
            self.copy()
        if number != self._aim.at:
            return Fate.ANSWERED
        self._strike(self._aim.blow, name)
        return FATES.get(self._aim.blow, Fate.ANSWERED)

    def _strike(self, blow: Blow, name: str) -> None:
        self._note(f"question {self._aim.at}, by {name}: {blow}")
        match blow:
            case Blow.FLUSHED | Blow.EMPTY | Blow.FLUSHED_AND_CRASH:
                self.flush()
            case Blow.OLD:
                self.fail_over()
            case Blow.FROZEN:
                self.freeze(LONG_SECONDS)
            case Blow.CUT_OFF:
                self.cut_off(name, LONG_SECONDS)
            case Blow.PARTED:
                self._weather.part(name, LONG_SECONDS)
            case _:
                pass
        if blow in (Blow.CRASH, Blow.FLUSHED_AND_CRASH) and (asker := current_process()):
            asker.crash()


class AimedCaching(Caching):
    def __init__(self, world: World, ledger: Ledger, weather: Weather, aim: Aim) -> None:
        super().__init__(world, ledger)
        self.redis = AimedRedis(world, weather, aim)

    async def go_wrong(self, names: list[str]) -> None:
        """Nothing but what was aimed."""
