"""The suspects that an instance drives, and when it tries the next: what `trials` says, over time."""

from collections.abc import Container

from muster.engine.live import Live
from muster.engine.trials import HEAD_START, Suspects, is_on_trial, room
from muster.kit.clock import passed


class Dock:
    """`driven` has the ids of what is driven here. What was taken over more than `most` times is given up."""

    def __init__(self, most: int, driven: Container[str]) -> None:
        self._most, self._driven = most, driven
        self._standing: dict[str, tuple[Live, float]] = {}
        # By this instance's own looking: how long ago a lease ended says nothing where all were away.
        self._waiting_since: float | None = None
        self._head_start_until = 0.0

    def began(self, live: Live) -> None:
        """It is driven from now on."""
        if live.takeovers:
            self._standing[live.facts.id] = live, passed()

    def takeovers(self) -> list[int]:
        """Of those who are driven here and may yet turn out to be what brings its owners down."""
        now = passed()
        self._standing = {
            key: (live, since)
            for key, (live, since) in self._standing.items()
            if key in self._driven and is_on_trial(live.takeovers, self._most, now - since)
        }
        return [live.takeovers for live, _ in self._standing.values()]

    def room(self, takeovers: int, waiting: int = 1, seconds: float = 0.0) -> int | None:
        """How many may be taken over that were taken over so often before; so many wait for it, for so long.
        None: as many as there are."""
        return room(takeovers + 1, self.takeovers(), self._most, waiting, seconds)

    def waited(self, suspects: Suspects | None) -> float:
        """For how many seconds some have been waiting, as far as was seen here: now these."""
        if suspects is None:
            self._waiting_since = None
            return 0.0
        now = passed()
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        return now - self._waiting_since

    def nobody_waits(self) -> None:
        self._waiting_since = None

    def give_head_start(self) -> None:
        """Some have just begun, and nothing else is to begin beside them for a while."""
        self._head_start_until = passed() + HEAD_START

    @property
    def is_head_start(self) -> bool:
        return passed() < self._head_start_until and bool(self.takeovers())
