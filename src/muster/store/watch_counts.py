"""Counts by the minute, and the same by the hour and by the day: added up and written last, in one order."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, Table

from muster.store.sets import add_up
from muster.store.tables import stage_aggregate, stage_aggregate_day, stage_aggregate_hour

KEY = ("workflow_version_id", "group_dim_hash", "node_key", "bucket_start")
LONG_AGO = datetime.min.replace(tzinfo=UTC)
# A version, a group, a node and a moment.
Cell = tuple[int, str, str, datetime]


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def day_of(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


class Tally:
    """What outcomes add to the counts."""

    def __init__(self) -> None:
        # In flight, completed, late, failed.
        self.cells: dict[Cell, list[int]] = {}
        # A batch comes at one time: its minute is worked out once, and hashed once.
        self._at = self._minute = LONG_AGO

    def add(
        self,
        version_id: int,
        group_hash: str,
        node: str,
        at: datetime,
        *,
        completed: int = 0,
        late: int = 0,
        failed: int = 0,
        in_flight: Mapping[str, int] | None = None,
    ) -> None:
        """The counts are the node's; `in_flight` is by node."""
        if at is not self._at:
            self._at, self._minute = at, minute_of(at)
        minute = self._minute
        if completed or late or failed:
            cell = self._cell((version_id, group_hash, node, minute))
            cell[1] += completed
            cell[2] += late
            cell[3] += failed
        for target, change in (in_flight or {}).items():
            if change:
                self._cell((version_id, group_hash, target, minute))[0] += change

    def _cell(self, cell: Cell) -> list[int]:
        return self.cells.setdefault(cell, [0, 0, 0, 0])

    def write(self, connection: Connection) -> None:
        """Last in a transaction, and in the order that everybody keeps: these rows are everybody's."""
        for table, cells in (
            (stage_aggregate, self.cells),
            (stage_aggregate_hour, _by(hour_of, self.cells)),
            (stage_aggregate_day, _by(day_of, self.cells)),
        ):
            _write(connection, table, cells)


def _by(span: Callable[[datetime], datetime], cells: Mapping[Cell, list[int]]) -> dict[Cell, list[int]]:
    found: dict[Cell, list[int]] = {}
    for (version_id, group_hash, node, minute), counts in cells.items():
        place = (version_id, group_hash, node, span(minute))
        held = found.setdefault(place, [0, 0, 0, 0])
        for index, count in enumerate(counts):
            held[index] += count
    return found


def _write(connection: Connection, table: Table, cells: Mapping[Cell, list[int]]) -> None:
    rows = [
        {
            "workflow_version_id": version_id,
            "group_dim_hash": group_hash,
            "node_key": node,
            "bucket_start": start,
            "in_flight": counts[0],
            "completed": counts[1],
            "late": counts[2],
            "failed": counts[3],
        }
        for (version_id, group_hash, node, start), counts in sorted(cells.items())
        if any(counts)
    ]
    add_up(connection, table, rows, KEY)
