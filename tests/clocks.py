"""Clocks for tests."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 4, 12, 0, 0, 123456, UTC)


class FakeClock:
    """A clock that moves only when it is told to."""

    def __init__(self, time: datetime = NOON) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time

    def forward(self, **by: float) -> None:
        self.time += timedelta(**by)


class ShiftedClock:
    """This machine's clock, put forward: for those who deal with others that go by this machine's."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        self._stopped: datetime | None = None

    def now(self) -> datetime:
        return (self._stopped or datetime.now(UTC)) + self.ahead

    def stop(self) -> None:
        """Move on only by being put forward, however long a test takes."""
        self._stopped = datetime.now(UTC)
