"""Who is told what executions do. Everything is durable when it is told, and telling must neither wait nor
fail: it happens between the steps of an execution."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import Checkpoint, NewExecution
from muster.engine.program import Program
from muster.kit.changes import Changes

EXECUTIONS = "executions"


class Observer(Protocol):
    def started(self, new: NewExecution, program: Program) -> None: ...

    def skipped(self, new: NewExecution, program: Program) -> None:
        """Nothing was started: another has the key."""
        ...

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        """Visits have settled, and with a `checkpoint` the execution has parked or ended."""
        ...

    def taken(self, live: Live, late: timedelta | None) -> None:
        """This instance has taken it up; `late` is how long after its time, if it had one."""
        ...

    def lost(self, live: Live) -> None:
        """Another instance has it now, and this one found out by being refused."""
        ...


class Nobody:
    """An `Observer` that looks away."""

    def started(self, new: NewExecution, program: Program) -> None:
        return

    def skipped(self, new: NewExecution, program: Program) -> None:
        return

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        return

    def taken(self, live: Live, late: timedelta | None) -> None:
        return

    def lost(self, live: Live) -> None:
        return


class Announcing:
    """Tells those who listen in this process: under an execution's id, and under `executions`."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def started(self, new: NewExecution, program: Program) -> None:
        self._tell(new.id)

    def skipped(self, new: NewExecution, program: Program) -> None:
        """Nothing has changed."""

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        self._tell(live.facts.id)

    def taken(self, live: Live, late: timedelta | None) -> None:
        self._tell(live.facts.id)

    def lost(self, live: Live) -> None:
        self._tell(live.facts.id)

    def _tell(self, execution_id: str) -> None:
        self._changes.tell(execution_id)
        self._changes.tell(EXECUTIONS)


class Several:
    """Tells each of them."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def started(self, new: NewExecution, program: Program) -> None:
        for each in self._observers:
            each.started(new, program)

    def skipped(self, new: NewExecution, program: Program) -> None:
        for each in self._observers:
            each.skipped(new, program)

    def progressed(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        for each in self._observers:
            each.progressed(live, rows, checkpoint)

    def taken(self, live: Live, late: timedelta | None) -> None:
        for each in self._observers:
            each.taken(live, late)

    def lost(self, live: Live) -> None:
        for each in self._observers:
            each.lost(live)
