"""Who takes up an execution in the very transaction that lets it go on."""

from collections.abc import Sequence
from typing import Protocol

from muster.engine.finishing import Finished
from muster.engine.owned import OwnedExecution


class Taker(Protocol):
    def takes_as(self) -> str | None:
        """The owner under whose name executions may be claimed now; None: it takes none."""
        ...

    def take_up(self, taken: Sequence[OwnedExecution], asked: float) -> None:
        """Go on with what was claimed under that name, since `asked` (`kit.clock.passed`) at the earliest.
        Does not wait for it."""
        ...

    def finish(self, owned: OwnedExecution) -> Finished | None:
        """Compute an execution that an answer has reached to its end, as if it had been claimed. None: it is
        not known to end by computing alone. Changes nothing: nobody has heard of it before it is written."""
        ...

    def has_finished(self, finished: Finished) -> None:
        """It is written."""
        ...
