"""Runs that are kept at hand after they were written, so that a key's next event need not read them.

What is kept is what was committed. Whoever changes a run gives it the next number (`workflow_run.seq`), and
who writes one names the number that it was read with: so one that somebody else has changed meanwhile is
found out when it is written, and nothing is lost but the time. Only runs that are not over are kept: of a key
whose run is over, another may have begun.
"""

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress

from muster.model.watching import Run

# A version and a correlation key.
Place = tuple[int, str]
MOST_KEPT = 20_000
# After one that was out of date: others see to the same keys, and would make more of them so.
BATCHES_WITHOUT = 50


class KeptRuns:
    """The runs of one process. Who takes one has it alone, and gives it back once it is written. On SQLite
    they are taken in one thread and given back in another: whatever is looked at here may be gone by the
    next statement."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._runs: OrderedDict[Place, Run] = OrderedDict()
        self._without = 0

    def take(self, places: Iterable[Place]) -> dict[Place, Run]:
        if self._without:
            self._without -= 1
            return {}
        taken = {place: self._runs.pop(place, None) for place in set(places)}
        return {place: run for place, run in taken.items() if run is not None}

    def give_back(self, runs: Iterable[Run]) -> None:
        """These were written, and are as they were committed."""
        if self._without:
            return
        for run in runs:
            if run.finished_at is None:
                self._runs[run.version_id, run.correlation_key] = run
        with suppress(KeyError):  # there are none left
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)

    def forget(self, runs: Iterable[Run]) -> None:
        """Somebody else in this process has changed these."""
        for run in runs:
            self._runs.pop((run.version_id, run.correlation_key), None)

    def distrust(self) -> None:
        """One of those that were taken was out of date."""
        self._runs.clear()
        self._without = BATCHES_WITHOUT
