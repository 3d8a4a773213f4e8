"""All kinds of work at once, while instances, PostgreSQL, its disk, Kafka, Redis and the network fail."""

import os
import sys
from random import SystemRandom

import pytest

from soak.soak import Soak, soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "120"))


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
@pytest.mark.kafka
@pytest.mark.redis
async def test_everything_at_once_comes_to_its_end_once_whatever_goes_wrong() -> None:
    given = os.environ.get("SOAK_SEED")
    seed = int(given) if given else SystemRandom().randrange(1_000_000)
    verdict, table = await soak(Soak(seed, SECONDS))
    assert not verdict.wrong, "\n".join([f"seed {seed}", *verdict.wrong, table])
    sys.stdout.write(f"seed {seed}\n{table}\n")  # `pytest -s` shows it
