"""A PostgreSQL of one's own: stopped, gently or not, and started again on the same data."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from own_service import OwnService, running, service_home, service_kinds

FAST, IMMEDIATE = signal.SIGINT, signal.SIGQUIT


class OwnPostgres(OwnService):
    """Durable as in production: what a commit has answered is there after any stop."""

    def __init__(self, home: Path) -> None:
        super().__init__(service_kinds.Postgres(), home)

    @property
    def url(self) -> str:
        return self.address

    def stop(self, how: signal.Signals = FAST) -> None:
        super().stop(how)

    def cut_power(self) -> None:
        """Kill every process of it: unlike the server alone, whose sessions may still finish what they do."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for number in (self._process.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._process.wait(60)
        self._process = None


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """Running while the block runs. Skips the test where PostgreSQL is not installed."""
    with service_home(service_kinds.Postgres()) as home, running(OwnPostgres(home / "server")) as found:
        yield found
