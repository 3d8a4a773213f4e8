"""Every live execution has, at every moment, a lease, a due time or an open wait: looking whether it has."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

LOOK_EVERY = 60.0
NAMED = 10

log = logging.getLogger(__name__)


class Unattended(Protocol):
    async def unattended(self) -> Sequence[str]:
        """The ids of live executions that have none of the three; of very many, some."""
        ...


class SelfCheck:
    """`tell` hears how many there are: zero, unless Muster has a mistake."""

    def __init__(self, executions: Unattended, tell: Callable[[int], None]) -> None:
        self._executions, self._tell = executions, tell

    async def look(self) -> float:
        """One look; answers after how many seconds the next is wanted."""
        found = await self._executions.unattended()
        self._tell(len(found))
        if found:
            named = ", ".join(found[:NAMED])
            log.error("%s live executions have no lease, no due time and no open wait: %s", len(found), named)
        return LOOK_EVERY
