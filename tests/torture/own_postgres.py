"""A PostgreSQL of one's own: stopped, gently or not, and started again on the same data."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from own_service import OwnService, service_home, service_kinds

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


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """Running while the block runs. Skips the test where PostgreSQL is not installed."""
    with service_home(service_kinds.Postgres()) as home:
        found = OwnPostgres(home / "server")
        try:
            found.prepare()
            found.start()
            yield found
        finally:
            found.stop()
