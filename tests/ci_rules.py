"""What a run holds every test to: it ends, and in continuous integration it is not skipped. And what tests
have to tell, whoever captures what they print."""

import os
import signal
from collections.abc import Generator

import pytest

from torture.dumping import tell

SECONDS_A_TEST = 600  # pytest's own limit, at which it ends the process, comes a little later


class NoHangs:
    """A pytest plugin: a test that does not end is named, with all it waits for, before pytest ends it.

    The traceback that pytest prints shows a loop that waits, and not for what.
    """

    def __init__(self) -> None:
        self._stderr = os.fdopen(os.dup(2), "w")  # beside what pytest captures

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        signal.signal(signal.SIGALRM, lambda *_: self._tell(item))
        signal.setitimer(signal.ITIMER_REAL, SECONDS_A_TEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _tell(self, item: pytest.Item) -> None:
        self._stderr.write(f"\n{item.nodeid} has not ended within {SECONDS_A_TEST} s\n")
        self._stderr.flush()
        try:
            tell(self._stderr)
        except RuntimeError:
            self._stderr.write("no event loop runs\n")
            self._stderr.flush()


class NoSkips:
    """A pytest plugin: a skip proves nothing, so any, of a test or module, fails the run and is named."""

    def __init__(self) -> None:
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            where = report.longrepr
            self.skipped[report.nodeid] = str(where[2]) if isinstance(where, tuple) else str(where)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped, which CI does not accept", red=True)
            for nodeid, reason in sorted(self.skipped.items()):
                terminalreporter.write_line(f"{nodeid}: {reason}")


class Tables:
    """A pytest plugin: what tests record as `table` is printed in the end, whether they passed or not, and in
    whichever process they ran."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for outcome in ("passed", "failed"):
            for report in terminalreporter.stats.get(outcome, []):
                for name, text in getattr(report, "user_properties", ()):
                    if name == "table":
                        terminalreporter.section(report.nodeid)
                        terminalreporter.write_line(text)
