"""What the machines of instances take for the time: they are hours apart, and count from moments of their
own. The database's clock is the only one that they have in common."""

from datetime import datetime, timedelta

from muster.sim.world import World

MOST_HOURS_APART = 6.0
LONGEST_UP_SECONDS = 1_000_000.0


class Machine:
    """A `Clock`, and a counter of seconds."""

    def __init__(self, world: World, name: str) -> None:
        draw = world.chance(f"{name}/machine")
        self._world = world
        self._ahead = timedelta(hours=(draw.random() - 0.5) * MOST_HOURS_APART)
        self._up = draw.random() * LONGEST_UP_SECONDS

    def now(self) -> datetime:
        return self._world.clock.now() + self._ahead

    def seconds(self) -> float:
        return self._up + self._world.loop.time()
