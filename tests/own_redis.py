"""A Redis of one's own: killed, frozen, emptied, and started again with nothing in it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polling import poll
from ports import free_port
from services_for_tests import installed, missing

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import service_kinds  # from a folder that is no package, so it was put on the path


class OwnRedis:
    def __init__(self, home: Path) -> None:
        self._kind = service_kinds.Redis()
        self._home, self.port = home, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = self._kind.exports(self.port)["TEST_REDIS_URL"]
        data = home / "data"
        data.mkdir()
        if os.getuid() == 0:
            shutil.chown(data, self._kind.user, self._kind.user)

    def start(self) -> None:
        command = service_kinds.as_user(self._kind.user, self._kind.command(self._home, self.port))
        with (self._home / "service.log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self._home / "data", stdout=log, stderr=log)
        poll(lambda: self._kind.is_ready(self.port))

    def freeze(self) -> None:
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def flush(self) -> None:
        """As far as it answers."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            connection.recv(64)

    def kill(self) -> None:
        """As `kill -9` does: what it had is gone."""
        if self._process is not None:
            self._send(signal.SIGKILL)
            self._process.wait(60)
            self._process = None

    def _send(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)


@contextmanager
def own_redis() -> Iterator[OwnRedis]:
    """Running while the block runs. Skips the test where Redis is not installed."""
    installed("redis")
    if not service_kinds.Redis().is_installed():
        missing("redis")
    home = Path(tempfile.mkdtemp(prefix="muster-redis-"))
    home.chmod(0o755)  # the server runs as another user
    found = OwnRedis(home)
    try:
        found.start()
        yield found
    finally:
        found.kill()
        shutil.rmtree(home)
