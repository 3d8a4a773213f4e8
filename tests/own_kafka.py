"""A Kafka of one's own: killed, and started again on the same data and port."""

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

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import service_kinds

START_SECONDS = 240.0


class OwnKafka:
    def __init__(self, home: Path) -> None:
        self._kind = service_kinds.Kafka()
        self._home, self._port = home, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = self._kind.exports(self._port)["TEST_KAFKA_BOOTSTRAP"]

    def prepare(self) -> None:
        data = self._home / "data"
        data.mkdir()
        if os.getuid() == 0:
            shutil.chown(data, self._kind.user)
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
            assert time.monotonic() < until, "Kafka is not ready"
            time.sleep(0.1)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(60)
            self._process = None


@contextmanager
def own_kafka() -> Iterator[OwnKafka]:
    """Running while the block runs. Skips the test where Kafka is not installed."""
    installed("kafka")
    if not service_kinds.Kafka().is_installed():
        missing("kafka")
    home = Path(tempfile.mkdtemp(prefix="muster-kafka-"))
    home.chmod(0o755)  # the server runs as another user
    found = OwnKafka(home)
    try:
        found.prepare()
        found.start()
        yield found
    finally:
        found.kill()
        shutil.rmtree(home)
