"""Three instances, random workflows, faults at every commit and call: see `muster.sim.scenarios.engine`."""

import gc
import os
import subprocess
import sys
from hashlib import sha256

import pytest

from muster.engine.owned import Progress
from muster.sim.scenarios.engine import simulate
from muster.sim.seeds import first_failure, run_in
from muster.sim.world import World
from muster.store.executions import ExecutionRepository

SEEDS = 500


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_what_must_hold_holds_at_every_commit_and_in_the_end(block: int) -> None:
    failure = first_failure(simulate, range(block * SEEDS // 4, (block + 1) * SEEDS // 4))
    assert failure is None, str(failure)


def digest_of(seed: int) -> str:
    world = World(seed)
    assert run_in(world, simulate) is None
    return sha256("\n".join(world.trace()).encode()).hexdigest()


def test_a_run_repeats_exactly_whatever_ran_before_it() -> None:
    before = digest_of(7)
    assert first_failure(simulate, range(3)) is None
    assert digest_of(7) == before


def test_a_run_repeats_exactly_whenever_the_garbage_collector_would_come() -> None:
    before, thresholds = digest_of(3), gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        assert digest_of(3) == before
    finally:
        gc.set_threshold(*thresholds)


def test_a_run_repeats_exactly_in_another_process_whatever_the_hash_seed() -> None:
    def digest(hash_seed: str) -> bytes:
        environment = dict(os.environ) | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "muster.sim", "--only", "engine", "--seed", "11"]
        shown = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        assert shown.count(b"\n") > 1000
        return sha256(shown).digest()

    assert digest("1") == digest("2")


# --- mistakes that the simulation must find ------------------------------------------------------


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
        unfenced = progress._replace(fence=rows)
        await super().write(unfenced)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistaken", "finding"), [(Forgetful, "unlike the reference"), (Unfenced, "stale write")]
)
def test_the_simulation_notices(mistaken: type[ExecutionRepository], finding: str) -> None:
    failure = first_failure(lambda world: simulate(world, mistaken), range(40))
    assert failure is not None
    assert finding in str(failure)
