"""Three instances, events in any order, faults at every commit: each wait is resumed once, with what came."""

from collections.abc import Sequence

import pytest

from muster.engine.event_waits import Accepted, Arrived, Verdict
from muster.sim.scenarios.waits import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World
from muster.store.event_wait_records import EventWaitRepository

SEEDS = 40


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_each_wait_is_resumed_once_with_what_came(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 2, (block + 1) * SEEDS // 2))
    assert failure is None, str(failure)


def test_a_run_repeats_exactly() -> None:
    def trace() -> list[str]:
        world = World(5)
        assert run_in(world, simulate) is None
        return world.trace()

    assert trace() == trace()


class AnswersFirst(EventWaitRepository):
    """Tells senders that their events were accepted before that is so."""

    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        await super().receive(events[1:])
        return [Accepted("api_response" if event.topic is None else "kafka_event", False) for event in events]


def test_an_event_that_was_acknowledged_and_is_lost_is_noticed() -> None:
    def careless(world: World) -> list[str]:
        return simulate(world, AnswersFirst)

    assert first_failure(careless, range(5)) is not None
