"""What is expected and does not come is missed once, while the instances that look for it are killed."""

import os
from random import SystemRandom

import pytest

from torture.missing import Silence, miss_all


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
async def test_each_miss_fires_once_on_some_instance_while_they_are_killed() -> None:
    given = os.environ.get("TORTURE_SEED")
    seed = int(given) if given else SystemRandom().randrange(1_000_000)
    verdict = await miss_all(Silence(seed, 2_000, seconds=10, every=2))
    told = "\n".join(f"{what}: {number}" for what, number in verdict.numbers.items())
    assert not verdict.wrong, "\n".join([*verdict.wrong, told])
    assert verdict.numbers["expectations"] == 2_000, told
