"""Three instances that publish and consume, faults at every commit: every message handled, in order."""

import pytest

from muster.engine.consuming import Consumer, Part
from muster.sim.scenarios.bus import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World

SEEDS = 16


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_every_message_is_handled_in_order_and_once_where_that_is_promised(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 2, (block + 1) * SEEDS // 2))
    assert failure is None, str(failure)


def test_a_run_repeats_exactly() -> None:
    def trace() -> list[str]:
        world = World(5)
        assert run_in(world, simulate) is None
        return world.trace()

    assert trace() == trace()


class RecordsFirst(Consumer):
    """Moves on before it has dealt with anything: what it was about is lost with a crash."""

    async def _handle(self, part: Part) -> None:
        await self._member.record({each.place: each.offset + 1 for each in part.messages})
        await super()._handle(part)


@pytest.mark.slow
def test_moving_on_before_handling_is_found_out() -> None:
    assert first_failure(lambda world: simulate(world, RecordsFirst), range(30)) is not None
