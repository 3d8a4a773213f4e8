"""Waits are answered over callbacks and Kafka, twice, wrongly and unreadably, while instances come and go."""

import os
from random import SystemRandom

import pytest

from torture.waiting import Vigil, wait_for_all


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
@pytest.mark.kafka
async def test_each_wait_resumes_once_whatever_is_sent_and_whoever_goes_down() -> None:
    given = os.environ.get("TORTURE_SEED")
    seed = int(given) if given else SystemRandom().randrange(1_000_000)
    verdict = await wait_for_all(Vigil(seed, 150, every=2.0, rebalances=4))
    told = "\n".join(f"{what}: {number}" for what, number in verdict.numbers.items())
    assert not verdict.wrong, "\n".join([*verdict.wrong, told])
    assert verdict.numbers["executions"] == 150, told
