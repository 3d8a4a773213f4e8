"""What was counted, minute by minute, with what was in flight by then. Pure but for its port."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.watch.boards import Counts, Series


@dataclass(frozen=True, slots=True)
class Bucket:
    """A minute of a series. `counts.in_flight` is by how much it changed; `in_flight` what it came to."""

    series: Series
    group: JsonObject | None
    start: datetime
    in_flight: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class WantedBuckets:
    """Those of a version, of one group or of all, that begin from `since` on and before `until`."""

    version_id: int
    group_hash: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Buckets(Protocol):
    async def buckets(self, wanted: WantedBuckets, page: Page) -> tuple[Sequence[Bucket], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        ...


def running(
    before: Mapping[Series, int], rows: Iterable[tuple[Series, datetime, Counts]]
) -> Mapping[tuple[Series, datetime], int]:
    """What was in flight at the end of each minute: `before` is what it was before the first of them."""
    stands = dict(before)
    found: dict[tuple[Series, datetime], int] = {}
    for series, start, counts in sorted(rows, key=lambda row: row[1]):
        stands[series] = found[series, start] = stands.get(series, 0) + counts.in_flight
    return found
