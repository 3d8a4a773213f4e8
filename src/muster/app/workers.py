"""Several processes on one socket: a parent that starts them, replaces those that die, and ends with them."""

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable

import structlog

_log = structlog.get_logger("muster.workers")

CANNOT_START = 3
_PAUSE_SECONDS = 1.0
_TOLD = (signal.SIGTERM, signal.SIGINT)


class WorkersFailed(Exception):
    """A worker could not start, and has said why."""


def supervise(count: int, work: Callable[[int], None]) -> None:
    """Run `work(number)` in `count` processes until SIGTERM or SIGINT, which each of them gets too.

    A process that ends by itself is replaced; one that cannot start ends them all: raises `WorkersFailed`.
    """
    family = _Family(work)
    for told in _TOLD:
        signal.signal(told, lambda *_: family.end())
    for number in range(1, count + 1):
        family.start(number)
    family.watch()
    if family.failed:
        raise WorkersFailed


class _Family:
    def __init__(self, work: Callable[[int], None]) -> None:
        self._work = work
        self._numbers: dict[int, int] = {}
        self._ending = False
        self.failed = False

    def start(self, number: int) -> None:
        """Unless the end has come: a signal may arrive between any two lines here."""
        if self._is_ending():
            return
        # Held back until the child has its own way with them: a signal that met the parent's handler in the
        # child would be lost, and the child would go on for ever.
        signal.pthread_sigmask(signal.SIG_BLOCK, _TOLD)
        process = os.fork()
        if process == 0:
            _be_worker(self._work, number)
        self._numbers[process] = number
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TOLD)
        if self._is_ending():
            self.end()

    def _is_ending(self) -> bool:
        return self._ending

    def end(self) -> None:
        self._ending = True
        for process in list(self._numbers):
            # It may be gone already, and only its end not noticed yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def watch(self) -> None:
        """Until nobody is left."""
        while self._numbers:
            process, status = os.wait()
            number = self._numbers.pop(process)
            code = os.waitstatus_to_exitcode(status)
            if code == CANNOT_START and not self._is_ending():
                self.failed = True
                self.end()
            if not self._is_ending():
                _log.warning("worker ended", worker=number, process=process, code=code)
                time.sleep(_PAUSE_SECONDS)
                self.start(number)


def _be_worker(work: Callable[[int], None], number: int) -> None:
    """In the child. Leaves without going back up: what is there belongs to the parent."""
    for signal_number in _TOLD:
        signal.signal(signal_number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _TOLD)
    code = 1
    try:
        work(number)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
