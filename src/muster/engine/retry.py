"""Whether a failed attempt is tried again, and after how long."""

from dataclasses import dataclass
from datetime import timedelta

from muster.engine.state import Failure


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter: the delay is a random share of what the attempt would allow."""

    max_attempts: int = 1
    initial_delay: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 60.0
    jitter: bool = True
    on: frozenset[str] | None = None

    def delay_after(self, attempt: int, failure: Failure, chance: float) -> timedelta | None:
        """How long to wait before the next attempt; None means that there is none."""
        if attempt >= self.max_attempts or not failure.retryable:
            return None
        if self.on is not None and failure.type not in self.on:
            return None
        longest = min(self.initial_delay * self.multiplier ** (attempt - 1), self.max_delay)
        seconds = longest * chance if self.jitter else longest
        return timedelta(seconds=max(seconds, failure.retry_after or 0.0))
