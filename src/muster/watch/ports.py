"""What taking events in needs of a store."""

from collections.abc import Sequence
from typing import Protocol

from muster.engine.bus import Position
from muster.model.watching import Event


class Received(Protocol):
    @property
    def duplicates(self) -> tuple[bool, ...]:
        """Which of the events were there already."""
        ...

    @property
    def unmatched(self) -> int:
        """How many, of all that were written together with them, concern no workflow."""
        ...


class Events(Protocol):
    async def take(self, events: Sequence[Event], positions: Sequence[Position] = ()) -> Received:
        """Take events in, each once, with all that follows from it; durable when this returns. Of those with
        one name the first is taken. `positions` are recorded with them: all of it is there, or nothing.
        Raises `AlreadyHandled`."""
        ...
