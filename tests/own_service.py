"""A service of one's own: stopped, gently or not, and started again on the same data and port."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from polling import poll
from ports import free_port
from services_for_tests import installed, missing

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import service_kinds  # from a folder that is no package, so it was put on the path

S = TypeVar("S", bound="OwnService")


class OwnService:
    def __init__(self, kind: service_kinds.Service, home: Path) -> None:
        self._kind, self._home, self.port = kind, home, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        [self.address] = kind.exports(self.port).values()

    def prepare(self) -> None:
        data = self._home / "data"
        data.mkdir(parents=True)
        if os.getuid() == 0:
            shutil.chown(data, self._kind.user)
        self._kind.prepare(self._home)

    def start(self) -> None:
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it, without waiting for it."""
        command = service_kinds.as_user(self._kind.user, self._kind.command(self._home, self.port))
        with (self._home / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._home / "data", stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> None:
        """Until it answers."""
        poll(self._is_ready)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._home / "service.log").read_text()[-2000:]
        return self._kind.is_ready(self.port)

    def recover(self) -> None:
        """Until it answers; started again where it has ended by itself."""
        poll(self._is_back)

    def _is_back(self) -> bool:
        if not self.is_up:
            self.launch()
        return self._kind.is_ready(self.port)

    def stop(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def stop_as_it_likes(self) -> None:
        OwnService.stop(self, self._kind.stop_signal)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None


@contextmanager
def running(service: S) -> Iterator[S]:
    """Started on empty data, and there while the block runs."""
    try:
        service.prepare()
        service.start()
        yield service
    finally:
        service.stop_as_it_likes()


@contextmanager
def service_home(kind: service_kinds.Service) -> Iterator[Path]:
    """A folder for it while the block runs. Skips the test where the service is not installed."""
    installed(kind.name)
    if not kind.is_installed():
        missing(kind.name)
    home = Path(tempfile.mkdtemp(prefix=f"muster-{kind.name}-"))
    home.chmod(0o755)  # the server runs as another user
    try:
        yield home
    finally:
        shutil.rmtree(home)
