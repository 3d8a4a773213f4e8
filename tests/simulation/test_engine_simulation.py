"""Three instances, random workflows, faults at every commit: see `muster.sim.scenarios.engine`."""

import pytest

from muster.engine.ports import Progress
from muster.sim.scenarios.engine import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World
from muster.store.executions import ExecutionRepository

SEEDS = 40


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_nothing_accepted_is_lost_and_no_journaled_effect_happens_again(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 4, (block + 1) * SEEDS // 4))
    assert failure is None, str(failure)


def test_a_run_repeats_exactly() -> None:
    worlds = [World(7), World(7)]
    assert [run_in(world, simulate) for world in worlds] == [None, None]
    assert worlds[0].trace() == worlds[1].trace()


class Forgetful(ExecutionRepository):
    """Acknowledges what effects did without writing it: their rows are lost with a crash."""

    async def write(self, progress: Progress) -> None:
        if progress.checkpoint is not None:
            await super().write(progress)


class Unfenced(ExecutionRepository):
    """Lets whoever was overtaken go on writing."""

    async def write(self, progress: Progress) -> None:
        rows = await self._database.read(
            lambda connection: connection.exec_driver_sql(
                "SELECT fence FROM workflow_execution WHERE id = ?", (progress.execution_id,)
            ).scalar()
        )
        await super().write(Progress(progress.execution_id, rows, progress.rows, progress.checkpoint))


@pytest.mark.slow
@pytest.mark.parametrize("mistaken", [Forgetful, Unfenced])
def test_the_simulation_notices(mistaken: type[ExecutionRepository]) -> None:
    failure = first_failure(lambda world: simulate(world, mistaken), range(40))
    assert failure is not None
