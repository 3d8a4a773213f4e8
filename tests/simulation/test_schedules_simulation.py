"""Three instances, schedules that come due every second, faults at every commit: each occurrence once."""

import pytest

from muster.engine.occurrences import plan
from muster.engine.schedules import Claimed, Settled
from muster.sim.scenarios.schedules import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World
from muster.store.due_schedules import DueScheduleRepository

SEEDS = 60


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_each_occurrence_is_started_once_and_none_is_lost(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 2, (block + 1) * SEEDS // 2))
    assert failure is None, str(failure)


def test_a_run_repeats_exactly() -> None:
    def trace() -> list[str]:
        world = World(5)
        assert run_in(world, simulate) is None
        return world.trace()

    assert trace() == trace()


class MovesOnFirst(DueScheduleRepository):
    """Lets schedules move on when they are claimed: what is not started by then is lost with a crash."""

    async def claim(self, most: int) -> Claimed:
        claimed = await super().claim(most)
        await super().settle([Settled(due, plan(due, claimed.at)) for due in claimed.due])
        return claimed

    async def settle(self, settled: object) -> None:
        return


def test_moving_on_before_starting_is_found_out() -> None:
    assert first_failure(lambda world: simulate(world, MovesOnFirst), range(40)) is not None
