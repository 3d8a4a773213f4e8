"""Executions rest on one instance and resume on another, while instances and Redis are killed and frozen."""

import os
from random import SystemRandom

import pytest

from torture.moving import Journey, move


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
@pytest.mark.redis
async def test_each_delay_resumes_once_on_some_instance_while_all_of_them_come_and_go() -> None:
    given = os.environ.get("TORTURE_SEED")
    seed = int(given) if given else SystemRandom().randrange(1_000_000)
    verdict = await move(Journey(seed, 400, rolls=(1 / 3,)))
    told = "\n".join(f"{what}: {number}" for what, number in verdict.numbers.items())
    assert not verdict.wrong, "\n".join([*verdict.wrong, told])
    assert verdict.numbers["delays resumed"] == 3 * 400, told
