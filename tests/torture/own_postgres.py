"""A PostgreSQL of one's own: stopped, gently or not, and started again on the same data."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ports import free_port
from services_for_tests import installed, missing

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import service_kinds  # from a folder that is no package, so it was put on the path

FAST, IMMEDIATE = signal.SIGINT, signal.SIGQUIT
START_SECONDS = 60.0


class OwnPostgres:
    """Durable as in production: what a commit has answered is there after any stop."""

    def __init__(self, home: Path) -> None:
        self._kind = service_kinds.Postgres()
        self._home, self._port = home, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = self._kind.exports(self._port)["TEST_POSTGRES_URL"]

    def prepare(self) -> None:
        data = self._home / "data"
        data.mkdir()
        if os.getuid() == 0:
            shutil.chown(data, self._kind.user, self._kind.user)
        self._kind.prepare(self._home)

    def start(self) -> None:
        command = service_kinds.as_user(self._kind.user, self._kind.command(self._home, self._port))
        with (self._home / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._home / "data", stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + START_SECONDS
        while not self._kind.is_ready(self._port):
            assert self._process.poll() is None, (self._home / "service.log").read_text()[-2000:]
            assert time.monotonic() < until, "PostgreSQL is not ready"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = FAST) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """Running while the block runs. Skips the test where PostgreSQL is not installed."""
    installed("postgres")
    if not service_kinds.Postgres().is_installed():
        missing("postgres")
    home = Path(tempfile.mkdtemp(prefix="muster-postgres-"))
    home.chmod(0o755)  # the server runs as another user
    found = OwnPostgres(home)
    try:
        found.prepare()
        found.start()
        yield found
    finally:
        found.stop()
        shutil.rmtree(home)
