"""All kinds of work at once, while instances, PostgreSQL, its disk, Kafka, Redis and the network fail."""

import os
from collections.abc import Callable

import pytest

from services_for_tests import in_ci
from soak.faults import Fault
from soak.soak import Soak, soak

# Five minutes where it is what stands between a change and everybody: each kind of fault several times.
SECONDS = float(os.environ.get("SOAK_SECONDS", "300" if in_ci() else "120"))
A_ROUND = 110.0
SEED = int(os.environ.get("SOAK_SEED", "815"))


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.postgres
@pytest.mark.kafka
@pytest.mark.redis
async def test_everything_at_once_comes_to_its_end_once_whatever_goes_wrong(
    record_property: Callable[[str, object], None],
) -> None:
    done = await soak(Soak(SEED, SECONDS))
    record_property("table", f"seed {SEED}\n{done.table}")
    assert not done.verdict.wrong, "\n".join([f"seed {SEED}", *done.verdict.wrong])
    # Elsewhere somebody may not be allowed to mount a volume that can be full.
    needed = set(Fault) if in_ci() else done.possible
    assert needed <= done.given or SECONDS < A_ROUND, f"never given: {needed - done.given}"
