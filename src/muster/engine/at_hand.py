"""What whoever drives executions tells a cache, and asks of it. Telling neither waits nor fails."""

from collections.abc import Sequence
from typing import Protocol

from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import Checkpoint, OwnedExecution
from muster.engine.ports import Executions


class AtHand(Protocol):
    """Keeps the contexts of executions at hand. Nothing depends on it but how long things take, and where an
    execution goes on whose workflow asks for no more."""

    def took(self, live: Live) -> None:
        """This instance drives it from now on."""
        ...

    def stands(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        """This is how far it has come, by these rows; with a `checkpoint`, which is durable, it has parked or
        ended."""
        ...

    def let_go(self, live: Live) -> None:
        """This instance drives it no longer."""
        ...

    def gave_up(self, owned: OwnedExecution, nodes: Sequence[str]) -> None:
        """It has ended, of which nobody could say more than that it may have visited these nodes."""
        ...

    async def filled(
        self, taken: Sequence[OwnedExecution], executions: Executions
    ) -> Sequence[OwnedExecution]:
        """Those that were just claimed, where need be with their checkpoints, from wherever they are to be
        had. Raises `NotWritten`."""
        ...

    async def recovered(self, taken: Sequence[OwnedExecution]) -> Sequence[OwnedExecution]:
        """Those that were just taken over, as far as their last owners are known to have come: their workflow
        is content with that."""
        ...


class NothingAtHand:
    """An `AtHand` for who has the database and nothing else."""

    def took(self, live: Live) -> None:
        return

    def stands(self, live: Live, rows: Sequence[JournalRow], checkpoint: Checkpoint | None) -> None:
        return

    def let_go(self, live: Live) -> None:
        return

    def gave_up(self, owned: OwnedExecution, nodes: Sequence[str]) -> None:
        return

    async def filled(
        self, taken: Sequence[OwnedExecution], executions: Executions
    ) -> Sequence[OwnedExecution]:
        return taken

    async def recovered(self, taken: Sequence[OwnedExecution]) -> Sequence[OwnedExecution]:
        return taken
