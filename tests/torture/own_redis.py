"""A Redis of one's own: killed, emptied, and started again with nothing in it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ports import free_port
from services_for_tests import installed, missing
from torture.own_postgres import START_SECONDS, service_kinds


class OwnRedis:
    def __init__(self, home: Path) -> None:
        self._kind = service_kinds.Redis()
        self._home, self._port = home, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = self._kind.exports(self._port)["TEST_REDIS_URL"]

    def start(self) -> None:
        data = self._home / "data"
        data.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(data, self._kind.user, self._kind.user)
        command = service_kinds.as_user(self._kind.user, self._kind.command(self._home, self._port))
        with (self._home / "service.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + START_SECONDS
        while not self._kind.is_ready(self._port):
            assert time.monotonic() < until, "Redis is not ready"
            time.sleep(0.02)

    def flush(self) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            connection.recv(64)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None


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
