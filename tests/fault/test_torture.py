"""Two minutes of real crashes under load: nothing accepted is lost, nothing happens under two keys."""

import os
from random import SystemRandom

import pytest

from torture.torture import Plan, torture

SECONDS = float(os.environ.get("TORTURE_SECONDS", "100"))


def seed() -> int:
    """What goes wrong and when follows from it: `TORTURE_SEED` repeats a schedule."""
    given = os.environ.get("TORTURE_SEED")
    return int(given) if given else SystemRandom().randrange(1_000_000)


async def survive(plan: Plan) -> None:
    verdict = await torture(plan)
    told = "\n".join(f"{what}: {number}" for what, number in verdict.numbers.items())
    assert not verdict.wrong, "\n".join([*verdict.wrong, told])
    assert verdict.numbers["executions accepted"], told


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
async def test_three_instances_lose_nothing_while_they_and_their_postgresql_are_killed() -> None:
    await survive(Plan(seed(), 10_000, SECONDS))


@pytest.mark.slow
@pytest.mark.serial
async def test_one_instance_on_sqlite_goes_on_at_once_however_often_it_is_killed() -> None:
    await survive(Plan(seed(), 2_000, SECONDS / 5, sqlite=True))
