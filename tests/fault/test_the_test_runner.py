"""`scripts/test` cleans up after itself, however it ends."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

HOLD = """
import pathlib, time
from services_for_tests import started
def test_hold():
    started("redis")
    started("redis@apart")
    pathlib.Path({flag!r}).touch()
    time.sleep(600)
"""

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where this runner keeps all that it has: a temporary folder that a service's user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def processes_in(folder: Path) -> list[str]:
    """The command lines of the processes that work in that folder, or name it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = os.readlink(process / "cwd")
        except OSError:
            continue  # it ended while we looked
        if str(folder) in command or where.startswith(str(folder)):
            found.append(command)
    return found


def run_holding(folder: Path) -> subprocess.Popen[str]:
    """Start the runner on a test that holds two services for minutes, and wait until it does."""
    flag = folder / "held"
    (folder / "test_hold.py").write_text(HOLD.format(flag=str(flag)))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("TEST_", "PYTEST"))
    }
    runner = subprocess.Popen(
        ["scripts/test", "-c", "pyproject.toml", str(folder / "test_hold.py"), "tests/unit/test_layers.py"],
        cwd=CHECKOUT,
        env=environment | {"TMPDIR": str(folder), "CI": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # What starts the tests may ignore it, as whatever a script runs in the background does.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not flag.exists() and time.monotonic() < deadline and runner.poll() is None:
        time.sleep(0.1)
    if not flag.exists():
        os.killpg(runner.pid, signal.SIGTERM)
        pytest.fail(f"the runner did not get that far:\n{runner.communicate()[0]}")
    return runner


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupt", "terminate"]
)
def test_an_interrupted_run_leaves_nothing_behind(folder: Path, how: signal.Signals, code: int) -> None:
    runner = run_holding(folder)
    assert sum("redis-server" in command for command in processes_in(folder)) == 2
    os.killpg(runner.pid, how)
    output = runner.communicate(timeout=300)[0]
    assert runner.returncode == code, output
    assert "s in all" in output
    assert processes_in(folder) == []
    assert not list(folder.glob("muster-test.*"))
