"""Random graphs and traces come to what a plain, slow reading of the rules says, also where batches come
twice and processes begin anew in between. (`make watching` does ten thousand.)"""

import pytest

from muster.store.database import Database
from watch_traces import run_seeds

SHARE = 10


@pytest.mark.parametrize("part", range(4))
async def test_random_traces_come_to_what_the_rules_say(part: int) -> None:
    await run_seeds(range(part * SHARE, (part + 1) * SHARE))


async def test_they_come_to_the_same_on_every_database(database: Database) -> None:
    await run_seeds(range(1_000, 1_000 + SHARE), database=database)
