"""Waits are answered over callbacks and Kafka, twice, wrongly and unreadably, while instances come and go,
and what they stand on does."""

import os
from dataclasses import replace
from random import SystemRandom

import pytest

from torture.waiting import Vigil, wait_for_all

pytestmark = [pytest.mark.slow, pytest.mark.serial, pytest.mark.postgres, pytest.mark.kafka]


def seed() -> int:
    given = os.environ.get("TORTURE_SEED")
    return int(given) if given else SystemRandom().randrange(1_000_000)


async def judged(vigil: Vigil) -> None:
    verdict = await wait_for_all(vigil)
    told = "\n".join(f"{what}: {number}" for what, number in verdict.numbers.items())
    assert not verdict.wrong, "\n".join([*verdict.wrong, told])
    assert verdict.numbers["executions"] == vigil.waits, told


async def test_each_wait_resumes_once_whatever_is_sent_and_whoever_goes_down() -> None:
    await judged(Vigil(seed(), 150, every=2.0, rebalances=2, kills=0))


@pytest.mark.parametrize("what", ["database", "broker"])
async def test_waits_go_on_by_themselves_when_what_was_away_is_back(what: str) -> None:
    # In three parts: a third is done, and it goes away, before the last of them is sent.
    calm = Vigil(seed(), 60, instances=2, rebalances=2, kills=0)
    away = replace(calm, outage=3.0) if what == "database" else replace(calm, broker=True)
    await judged(away)
