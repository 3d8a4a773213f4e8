"""`scripts/services.py`: one start for many callers, and an end only for what it started."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from polling import PATIENCE
from services_for_tests import exports_of, script

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import service_kinds  # noqa: E402  (the folder of scripts is no package: it is put on the path first)
import services  # noqa: E402

ECHO = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()
"""


@dataclass(frozen=True)
class Echo(service_kinds.Service):
    """A service that needs no installing."""

    name: str = "echo"
    packages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    user: str = "root"
    source: str = ECHO
    seconds_to_start: float = PATIENCE
    seconds_to_stop: float = PATIENCE

    def command(self, home: Path, port: int) -> list[str]:
        return [sys.executable, "-c", self.source, str(port)]

    def is_ready(self, port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def exports(self, port: int) -> dict[str, str]:
        return {"TEST_ECHO": f"echo://127.0.0.1:{port}"}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.setenv("TEST_SERVICES_DIR", name)
        monkeypatch.setitem(service_kinds.SERVICES, "echo", Echo())
        yield Path(name)
        services.down_all([*services.instances()])


def is_gone(pid: int) -> bool:
    return services.birth_of(pid) is None


def test_many_callers_at_once_get_one_service(folder: Path) -> None:
    found: list[services.Running] = []
    callers = [threading.Thread(target=lambda: found.append(services.up("echo"))) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert found[0].is_alive()


def test_down_ends_the_service_and_removes_its_data(folder: Path) -> None:
    running = services.up("echo")
    services.down("echo")
    assert is_gone(running.pid)
    assert not (folder / "echo").exists()
    services.down("echo")


def test_a_service_that_died_is_started_anew(folder: Path) -> None:
    first = services.up("echo")
    os.kill(first.pid, signal.SIGKILL)
    while first.is_alive():
        time.sleep(0.01)
    second = services.up("echo")
    assert second.pid != first.pid
    assert second.is_alive()


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken note
    os.kill(child.pid, 0)  # which is what makes this way of asking useless
    assert services.birth_of(child.pid) is None
    child.wait()


def test_somebody_elses_process_under_the_same_number_is_left_alone(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ECHO, str(services.free_port())]) as stranger:
        birth = services.birth_of(stranger.pid)
        assert birth is not None
        (folder / "echo").mkdir()
        services.write_state(folder / "echo", services.Running(stranger.pid, birth + "1", 1))
        services.down("echo")
        services.Running(stranger.pid, birth + "1", 1).end(signal.SIGKILL, patience=1)
        assert stranger.poll() is None
        services.Running(stranger.pid, birth, 1).end(signal.SIGKILL, patience=PATIENCE)
        assert stranger.wait(PATIENCE) == -signal.SIGKILL


def test_a_service_that_does_not_heed_the_signal_is_killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = Echo(source="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ECHO)
    monkeypatch.setitem(service_kinds.SERVICES, "echo", replace(deaf, seconds_to_stop=0.2))
    running = services.up("echo")
    services.down("echo")
    assert is_gone(running.pid)


def test_a_service_that_cannot_start_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(service_kinds.SERVICES, "echo", Echo(source="raise SystemExit('no such luck')"))
    with pytest.raises(service_kinds.Trouble, match="no such luck"):
        services.up("echo")


def test_an_instance_apart_lives_and_ends_by_itself(folder: Path) -> None:
    shared, apart = services.up("echo"), services.up("echo@mine")
    assert shared.port != apart.port
    services.down("echo@mine")
    assert is_gone(apart.pid)
    assert shared.is_alive()


def test_down_without_a_name_ends_what_was_started_apart_too(folder: Path) -> None:
    shared, apart = services.up("echo"), services.up("echo@mine")
    services.down_all([])
    assert is_gone(shared.pid)
    assert is_gone(apart.pid)


@pytest.mark.parametrize("name", ["nonsense", "../echo", "echo@", "echo@../..", "echo@a/b", "@", "java"])
@pytest.mark.parametrize("command", ["up", "down", "env", "status"])
def test_a_name_that_is_no_service_is_refused(folder: Path, command: str, name: str) -> None:
    done = script(command, name)
    assert done.returncode == 2
    assert "there is postgres, mariadb, redis, oidc" in done.stderr
    assert list(folder.iterdir()) == []


def test_what_is_not_installed_is_an_exit_code_of_its_own_and_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = script("up", "redis")
    assert done.returncode == services.NOT_INSTALLED
    assert "scripts/services.py install redis" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_installed_here_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = script("install", "redis")
    assert done.returncode == 1
    assert "redis-server" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("TEST_SERVICES_DIR", str(tmp_path / "link"))
    with pytest.raises(service_kinds.Trouble, match="belongs to somebody else"):
        services.services_dir()


def test_the_addresses_can_be_taken_over_by_a_shell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    services.up_all(["echo"])
    printed = capsys.readouterr().out
    assert printed.startswith("export TEST_ECHO=")
    assert exports_of(printed)["TEST_ECHO"].startswith("echo://127.0.0.1:")
    services.env_all([])
    assert capsys.readouterr().out == printed
