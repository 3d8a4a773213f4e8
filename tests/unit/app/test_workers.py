"""Several processes under one parent, in a process of its own."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from polling import PATIENCE, poll

PROGRAM = """
    import os, signal, sys, time
    from muster.app.workers import supervise, WorkersFailed
    from muster.app import workers
    workers._PAUSE_SECONDS = 0.05
    folder, kind = sys.argv[1:]

    def work(number):
        with open(f"{folder}/{number}", "a") as log:
            log.write(f"{os.getpid()}\\n")
        if kind == "refuses" and number == 2:
            sys.exit(workers.CANNOT_START)
        told = []
        signal.signal(signal.SIGTERM, lambda *_: told.append(1))
        while not told:
            time.sleep(0.01)

    try:
        supervise(2, work)
    except WorkersFailed:
        sys.exit(7)
"""


def started(folder: Path, kind: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(folder), kind]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def processes(folder: Path, number: int, count: int) -> list[int]:
    """The ids of those who have been worker `number`, once there are so many."""
    file = folder / str(number)

    def found() -> list[int] | None:
        ids = [int(text) for text in file.read_text().split()] if file.exists() else []
        return ids if len(ids) >= count else None

    return poll(found)


def test_a_worker_that_dies_is_replaced_and_all_end_when_told(tmp_path: Path) -> None:
    with started(tmp_path, "serves") as parent:
        (first,) = processes(tmp_path, 1, 1)
        processes(tmp_path, 2, 1)
        subprocess.run(["kill", "-9", str(first)], check=True)
        assert processes(tmp_path, 1, 2)[1] != first
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE) == 0
    assert len(processes(tmp_path, 2, 1)) == 1


def test_a_worker_that_cannot_start_ends_them_all(tmp_path: Path) -> None:
    with started(tmp_path, "refuses") as parent:
        assert parent.wait(PATIENCE) == 7
