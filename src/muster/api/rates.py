"""How much each caller may ask for: a bucket that fills by the second."""

from collections import OrderedDict
from collections.abc import Callable

_BURST_SECONDS = 2.0
_CALLERS = 10_000


class Rates:
    """One bucket for each caller. Past 10,000 callers the least recent is forgotten: its bucket would be full
    again by then, or it is one of very many."""

    def __init__(self, per_second: int, monotonic: Callable[[], float]) -> None:
        self._rate = per_second
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take one request from the caller's bucket: 0.0, or the seconds until there is one."""
        wait = self.wait(caller)
        if not wait:
            self.charge(caller, 1.0)
        return wait

    def wait(self, caller: str) -> float:
        """The seconds until there is a request in the caller's bucket; 0.0: there is."""
        held = self._held(caller)
        return 0.0 if held >= 1.0 else (1.0 - held) / self._rate

    def charge(self, caller: str, requests: float) -> None:
        """Take so many, also if there are fewer: the rest is owed, at most a full bucket."""
        if not self._rate:
            return
        held = max(self._held(caller) - requests, -self._rate * _BURST_SECONDS)
        self._buckets[caller] = (held, self._monotonic())
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)

    def _held(self, caller: str) -> float:
        if not self._rate:
            return 1.0
        full, now = self._rate * _BURST_SECONDS, self._monotonic()
        held, filled_at = self._buckets.get(caller, (full, now))
        return min(full, held + (now - filled_at) * self._rate)
