"""Who is there: every instance says by a heartbeat that it lives, and what it has in hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from muster.model.stored import Page

BEAT_EVERY = 5.0
# After three beats that did not come.
GONE_AFTER = timedelta(seconds=15)
FORGOTTEN_AFTER = timedelta(days=1)


class InstanceStatus(StrEnum):
    """`leaving`: it takes no further work. `gone`: it was not heard of for a while, and did not say that it
    would leave."""

    LIVE = "live"
    LEAVING = "leaving"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Identity:
    """One start of an instance, and where it runs."""

    name: str
    incarnation: str
    host: str
    pid: int
    roles: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Standing:
    """An instance as it was last heard of, by the database's clock; it has `driving` executions in hand."""

    who: Identity
    status: InstanceStatus
    driving: int
    started_at: datetime
    heartbeat_at: datetime


Counts = Mapping[InstanceStatus, int]


class Instances(Protocol):
    """The instances on this database."""

    async def join(self, who: Identity) -> None:
        """It has started. Earlier incarnations of its name are no more."""
        ...

    async def beat(self, who: Identity, driving: int, leaving: bool) -> Counts:
        """It lives; how many there are of each kind. Who was forgotten meanwhile is there again."""
        ...

    async def leave(self, who: Identity) -> None:
        """It has ended."""
        ...

    async def list(self, page: Page) -> tuple[Sequence[Standing], str | None]:
        """By their names, and the cursor of the next page. Raises `BadCursor`."""
        ...


def status_of(heartbeat_at: datetime, leaving: bool, now: datetime) -> InstanceStatus:
    """How one stands that was last heard of then. Both times are by the database's clock."""
    if now - heartbeat_at > GONE_AFTER:
        return InstanceStatus.GONE
    return InstanceStatus.LEAVING if leaving else InstanceStatus.LIVE


class Heartbeat:
    """Says every few seconds that this instance lives, and `tell`s how many there are."""

    def __init__(
        self, instances: Instances, who: Identity, driving: Callable[[], int], tell: Callable[[Counts], None]
    ) -> None:
        self._instances, self._who, self._driving, self._tell = instances, who, driving, tell
        self._has_joined = self._is_leaving = False

    def retire(self) -> None:
        """From the next beat on, it is leaving."""
        self._is_leaving = True

    async def beat(self) -> float:
        if not self._has_joined:
            await self._instances.join(self._who)
            self._has_joined = True
        self._tell(await self._instances.beat(self._who, self._driving(), self._is_leaving))
        return BEAT_EVERY
