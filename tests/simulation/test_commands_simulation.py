"""Three instances, a far side that replies as it likes, faults at every commit: commands are sent once,
replies count once, and what was done is undone in order."""

from collections.abc import Sequence

import pytest

from muster.engine.commands import Received, Reception, Reply
from muster.sim.scenarios.commands import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World
from muster.store.command_replies import ReplyRepository

SEEDS = 24


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_commands_and_replies_count_once(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 2, (block + 1) * SEEDS // 2))
    assert failure is None, str(failure)


def test_what_undoes_is_sent_though_a_statement_fails_at_first() -> None:
    failure = run_in(World(97), simulate)
    assert failure is None, str(failure)


def test_a_run_repeats_exactly() -> None:
    def trace() -> list[str]:
        world = World(5)
        assert run_in(world, simulate) is None
        return world.trace()

    assert trace() == trace()


class Forgetful(ReplyRepository):
    """Says that it has stored what it has not."""

    async def receive(self, replies: Sequence[Reply]) -> Sequence[Reception]:
        stored = await super().receive(replies[1:])
        return [*(Reception(Received.ACCEPTED) for _ in replies[:1]), *stored]


def test_a_reply_that_is_lost_is_noticed() -> None:
    def careless(world: World) -> list[str]:
        return simulate(world, Forgetful)

    assert first_failure(careless, range(3)) is not None
