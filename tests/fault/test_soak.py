"""All kinds of work at once, while instances, PostgreSQL, its disk, Kafka, Redis and the network fail."""

import os
import sys

import pytest

from soak.soak import Soak, soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "120"))
SEED = int(os.environ.get("SOAK_SEED", "815"))


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
@pytest.mark.kafka
@pytest.mark.redis
async def test_everything_at_once_comes_to_its_end_once_whatever_goes_wrong() -> None:
    verdict, table = await soak(Soak(SEED, SECONDS))
    assert not verdict.wrong, "\n".join([f"seed {SEED}", *verdict.wrong, table])
    sys.stdout.write(f"seed {SEED}\n{table}\n")  # `pytest -s` shows it
