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
        if not self._rate:
            return 0.0
        now = self._monotonic()
        held, filled_at = self._buckets.pop(caller, (self._rate * _BURST_SECONDS, now))
        held = min(self._rate * _BURST_SECONDS, held + (now - filled_at) * self._rate)
        allowed = held >= 1.0
        self._buckets[caller] = (held - 1.0 if allowed else held, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - held) / self._rate
