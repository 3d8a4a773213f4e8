"""Topics of `/api/stream`: what lists and boards hear of while they are shown."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from pydantic import BaseModel, Field

from muster.api.execution_answers import item_of
from muster.api.execution_shapes import ExecutionItem
from muster.api.shapes import Shape
from muster.engine.following import BadPlace
from muster.model.access import Caller
from muster.model.execution import ExecutionRow

MOST = 200
# Times are given before commits: what a slow commit brings is older than what was there before it.
OVERLAP = timedelta(seconds=10)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Follower(Protocol):
    """One reader's way through a topic."""

    @property
    def place(self) -> str:
        """How far they have come: letters and digits."""
        ...

    async def look(self) -> BaseModel | None:
        """What has changed since the last look; None: nothing."""
        ...


class Topic(Protocol):
    def follow(self, actor: Caller, place: str | None) -> Follower:
        """From now on, or from a place that was reached before. Raises `BadPlace`."""
        ...


class Recent(Protocol):
    async def changed(
        self, institute_id: str | None, since: datetime | None, before: timedelta, limit: int
    ) -> tuple[Sequence[tuple[ExecutionRow, datetime]], datetime]: ...


class ExecutionsChanged(Shape):
    """Executions as they are now that they have changed, in that order."""

    items: list[ExecutionItem]
    more: bool = Field(description="There were more than could be told: read the list again.")


class ExecutionsTopic:
    def __init__(self, recent: Recent) -> None:
        self._recent = recent

    def follow(self, actor: Caller, place: str | None) -> Follower:
        return _ExecutionsFollower(self._recent, actor, None if place is None else _moment(place))


class _ExecutionsFollower:
    def __init__(self, recent: Recent, actor: Caller, since: datetime | None) -> None:
        self._recent, self._actor, self._since = recent, actor, since
        self._told: dict[str, datetime] = {}

    @property
    def place(self) -> str:
        return str((self._since - _EPOCH) // _MICROSECOND) if self._since else "0"

    async def look(self) -> ExecutionsChanged | None:
        found, at = await self._recent.changed(self._actor.institute_id, self._since, OVERLAP, MOST + 1)
        fresh = [row for row, changed in reversed(found) if self._told.get(row.id) != changed]
        self._told = {row.id: changed for row, changed in found}
        self._since = found[0][1] if found else self._since or at
        if not fresh:
            return None
        more = len(found) > MOST
        return ExecutionsChanged(items=[item_of(row) for row in fresh], more=more)


def _moment(place: str) -> datetime:
    if not place.isascii() or not place.isdigit() or len(place) > 17:
        raise BadPlace
    return _EPOCH + int(place) * _MICROSECOND
