"""Fresh `muster` processes in no time: one process has everything loaded, and forks the others.

Loading takes a second of processor time, which at a restart every second would leave none for what is tested.
The children are processes like any other: they share nothing, and can be killed, frozen and waited for.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

PR_SET_PDEATHSIG = 1


class Child:
    """A process that this one did not start itself."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self._nursery, self.pid = nursery, pid
        self._descriptor = os.pidfd_open(pid)
        self._code: int | None = None

    @property
    def is_alive(self) -> bool:
        return not select.select([self._descriptor], [], [], 0)[0]

    def send(self, number: signal.Signals) -> None:
        """To this process and no other, even if its number has been given to another."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def wait(self, seconds: float) -> int:
        """Its exit code; negative: the signal that ended it."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            raise TimeoutError(f"process {self.pid} did not end within {seconds:g} s")
        if self._code is None:
            self._code = self._nursery.code_of(self.pid)
        return self._code


class Nursery:
    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def child(self, arguments: list[str], environment: dict[str, str], folder: Path, log: Path) -> Child:
        """`muster` with these arguments; its parent goes on reading its exit codes until it is closed."""
        wanted = {"arguments": arguments, "environment": environment, "folder": str(folder), "log": str(log)}
        return Child(self, int(self._ask(wanted)))

    def code_of(self, pid: int) -> int:
        return int(self._ask({"code": pid}))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _ask(self, question: dict[str, object]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()


# --- in the process that forks ---------------------------------------------------------------------------


def _serve_questions() -> None:
    import muster.app.serve  # noqa: F401  (this is what takes the time)

    # A line at a time, unbuffered: what a child would find in the buffer was not meant for it.
    while line := _line():
        question = json.loads(line)
        if "code" in question:
            _, status = os.waitpid(question["code"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                _become(question)
        os.write(1, f"{answer}\n".encode())


def _line() -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        read = os.read(0, 1)
        if not read:
            return b""
        found += read
    return found


def _become(wanted: dict[str, object]) -> None:
    from dumping import tell_when_asked  # beside this file, which is run as a script

    from muster.app.cli import main

    tell_when_asked()
    log = os.open(str(wanted["log"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(here, there)
    os.setsid()
    # Whatever becomes of the tests, none of these is left behind.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(str(wanted["folder"]))
    os.environ.clear()
    assert isinstance(wanted["environment"], dict)
    os.environ.update(wanted["environment"])
    assert isinstance(wanted["arguments"], list)
    sys.argv = ["muster", *wanted["arguments"]]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve_questions()
