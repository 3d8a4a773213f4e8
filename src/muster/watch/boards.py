"""The wallboard: how every watched workflow stands, by group and node. Assembling it is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from muster.kit.clock import Clock
from muster.model.json import JsonObject
from muster.model.watching import Severity, worst
from muster.watch.rollups import bucket

DEFAULT_SINCE = timedelta(hours=24)
# How many minutes are shown one by one: the last few of thousands of nodes are most of the work.
RECENT = 5


class Series(NamedTuple):
    """What is counted by itself: a node of a version, for one group."""

    version_id: int
    group_hash: str
    node: str


@dataclass(frozen=True, slots=True)
class Counts:
    """`in_flight` is by how much it changed."""

    in_flight: int = 0
    completed: int = 0
    late: int = 0
    failed: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.in_flight + other.in_flight,
            self.completed + other.completed,
            self.late + other.late,
            self.failed + other.failed,
        )


NOTHING = Counts()


@dataclass(frozen=True, slots=True)
class Shown:
    """A workflow that is on the board. `versions` are all of its versions: what began on one ends there."""

    id: str
    key: str
    name: str
    version_id: int
    versions: tuple[int, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """All that the board is made of, read at one moment."""

    workflows: Sequence[Shown]
    groups: Mapping[tuple[int, str], JsonObject | None]
    in_flight: Mapping[Series, int]
    since: Mapping[Series, Counts]
    recent: Mapping[Series, Sequence[tuple[datetime, Counts]]]
    alerts: Mapping[Series, Severity]
    due: Mapping[Series, datetime]
    overdue: Mapping[Series, datetime]


@dataclass(slots=True)
class Tile:
    """A node. `overdue_since` is when what it misses longest was due; `recent` are its latest minutes in
    which anything happened."""

    node: str
    in_flight: int = 0
    counts: Counts = NOTHING
    status: Severity = Severity.GREEN
    next_due_at: datetime | None = None
    overdue_since: datetime | None = None
    recent: dict[datetime, Counts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupBoard:
    group_hash: str
    group: JsonObject | None
    status: Severity
    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class WorkflowBoard:
    workflow: Shown
    status: Severity
    groups: Sequence[GroupBoard]


@dataclass(frozen=True, slots=True)
class Board:
    at: datetime
    since: datetime
    workflows: Sequence[WorkflowBoard]


class BoardReader(Protocol):
    async def read(self, institute_id: str | None, since: datetime, recent: datetime) -> Reading:
        """What is counted from `since` on, and minute by minute from `recent` on."""
        ...


class Wallboard:
    def __init__(self, reader: BoardReader, clock: Clock) -> None:
        self._reader, self._clock = reader, clock

    async def look(
        self, institute_id: str | None, since: datetime | None = None, recent: int = RECENT
    ) -> Board:
        """How everything stands now; `since` None: since a day ago. `recent` minutes are shown one by one."""
        now = self._clock.now()
        start = bucket(now - DEFAULT_SINCE if since is None else since)
        reading = await self._reader.read(institute_id, start, bucket(now - timedelta(minutes=recent)))
        return Board(now, start, assemble(reading))


def assemble(reading: Reading) -> Sequence[WorkflowBoard]:
    """One entry for each workflow, in the order of their keys. Groups appear once something was counted."""
    owner = {version: each for each in reading.workflows for version in each.versions}
    tiles: dict[str, dict[str, dict[str, Tile]]] = {each.id: {} for each in reading.workflows}

    def tile(series: Series) -> Tile | None:
        workflow = owner.get(series.version_id)
        if workflow is None:
            return None
        groups = tiles[workflow.id]
        group = groups.get(series.group_hash)
        if group is None:
            group = groups[series.group_hash] = {node: Tile(node) for node in workflow.nodes}
        found = group.get(series.node)
        if found is None:
            found = group[series.node] = Tile(series.node)
        return found

    for series, in_flight in reading.in_flight.items():
        if found := tile(series):
            found.in_flight += in_flight
    for series, counts in reading.since.items():
        if found := tile(series):
            found.counts += counts
    for series, severity in reading.alerts.items():
        if found := tile(series):
            found.status = worst(found.status, severity)
    for series, due in reading.due.items():
        if found := tile(series):
            found.next_due_at = due if found.next_due_at is None else min(found.next_due_at, due)
    for series, due in reading.overdue.items():
        if found := tile(series):
            found.overdue_since = due if found.overdue_since is None else min(found.overdue_since, due)
    for series, minutes in reading.recent.items():
        if found := tile(series):
            for start, counts in minutes:
                before = found.recent.get(start)
                found.recent[start] = counts if before is None else before + counts
    known = {
        (owner[version].id, group): dims
        for (version, group), dims in reading.groups.items()
        if version in owner
    }
    return [
        _workflow(each, tiles[each.id], known)
        for each in sorted(reading.workflows, key=lambda each: each.key)
    ]


def _workflow(
    workflow: Shown,
    tiles: Mapping[str, Mapping[str, Tile]],
    known: Mapping[tuple[str, str], JsonObject | None],
) -> WorkflowBoard:
    groups = [
        GroupBoard(
            group_hash,
            known.get((workflow.id, group_hash)),
            worst(*(tile.status for tile in nodes.values())),
            list(nodes.values()),
        )
        for group_hash, nodes in sorted(tiles.items())
    ]
    return WorkflowBoard(workflow, worst(*(group.status for group in groups)), groups)
