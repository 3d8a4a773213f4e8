"""Random graphs and traces come to what a plain, slow reading of the rules says, also where batches come
twice and processes begin anew in between. (`make watching` does ten thousand.)"""

import pytest

from watch_traces import run_seeds

SHARE = 10


@pytest.mark.parametrize("part", range(4))
async def test_random_traces_come_to_what_the_rules_say(part: int) -> None:
    await run_seeds(range(part * SHARE, (part + 1) * SHARE))
