"""Counting anew from what happened, and holding the counts against that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, literal_column, select, union_all

from muster.store.database import Database
from muster.store.dialect import now as database_now
from muster.store.dialect import see_one_moment
from muster.store.sets import add_up
from muster.store.stage_counts import COUNTS, SERIES, TABLES
from muster.store.tables import event_occurrence, expectation, workflow_run
from muster.store.watch_counts import KEY, Tally
from muster.store.watch_retention import horizon_of
from muster.watch.rollups import Grain, bucket

# What is being written is not held against anything yet.
SETTLED = timedelta(minutes=2)
# For when nothing is: the minute that has begun counts, too.
AT_REST = -timedelta(minutes=1)
CHUNK = 10_000
r = workflow_run.c

Cell = tuple[int, str, str, datetime]
Numbers = tuple[int, ...]
Cells = Mapping[Cell, Numbers]
NOTHING: Numbers = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """A bucket that says something else than what happened. Numbers are those of `COUNTS`."""

    grain: Grain
    cell: Cell
    counted: Numbers
    happened: Numbers


@dataclass(frozen=True, slots=True)
class Verdict:
    """`until`: what was received later was not looked at; nor was what is counted in buckets that begin
    before `since`, of which some has gone."""

    until: datetime
    since: datetime | None
    buckets: int
    differences: Sequence[Difference]


class Recounting:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def verify(self, settled: timedelta = SETTLED) -> Verdict:
        """Hold every bucket against the events and expectations that it counts, but for those that began
        within the time that things take to settle; all as of one moment: of what comes meanwhile some may
        count as received long ago."""
        return await self._database.read(partial(_verify, settled=settled))

    async def repair(self, differences: Sequence[Difference]) -> None:
        """Add what is missing and take away what is too much: what comes meanwhile is counted as ever."""
        for grain in Grain:
            rows = [_row(each) for each in differences if each.grain is grain]
            for start in range(0, len(rows), CHUNK):
                part = rows[start : start + CHUNK]
                await self._database.write(partial(add_up, table=TABLES[grain], rows=part, key=KEY))


def _verify(connection: Connection, settled: timedelta) -> Verdict:
    see_one_moment(connection)
    until = bucket(database_now(connection) - settled)
    happened, since = _happened(connection, until), horizon_of(connection)
    counted, tail = _counted(connection, until)
    found: list[Difference] = []
    for grain in Grain:
        expected = _added(happened, tail if grain is not Grain.MINUTE else {}, grain)
        cells = expected.keys() | counted[grain].keys()
        for cell in sorted(cell for cell in cells if since is None or cell[3] >= since):
            is_, was = counted[grain].get(cell, NOTHING), expected.get(cell, NOTHING)
            if is_ != was:
                found.append(Difference(grain, cell, is_, was))
    return Verdict(until, since, sum(map(len, counted.values())), found)


def _happened(connection: Connection, until: datetime) -> Cells:
    tally = Tally()
    for table, note in ((event_occurrence, _note_event), (expectation, _note_expectation)):
        last = 0
        while rows := _chunk(connection, table, last):
            for row in rows:
                note(tally, row, until)
            last = rows[-1].id
    return {cell: tuple(counts) for cell, counts in tally.cells.items() if any(counts)}


def _chunk(connection: Connection, table: Table, after: int) -> Sequence[Row[Any]]:
    chosen = (
        select(table, r.workflow_version_id, r.group_dim_hash)
        .join(workflow_run, r.id == table.c.workflow_run_id)
        .where(table.c.id > after)
        .order_by(table.c.id)
        .limit(CHUNK)
    )
    return connection.execute(chosen).all()


def _note_event(tally: Tally, row: Row[Any], until: datetime) -> None:
    if row.received_at < until:
        tally.add(
            row.workflow_version_id,
            row.group_dim_hash,
            row.node_key,
            row.received_at,
            completed=1,
            late=int(row.counted_late),
            failed=int(row.order_violation),
        )


def _note_expectation(tally: Tally, row: Row[Any], until: datetime) -> None:
    def note(at: datetime | None, in_flight: int, late: int = 0) -> None:
        if at is not None and at < until:
            change = {row.to_node_key: 0 if row.optional else in_flight}
            place = (row.workflow_version_id, row.group_dim_hash, row.to_node_key)
            tally.add(*place, at, late=late, in_flight=change)

    note(row.created_at, 1)
    note(row.fired_at, 0, late=1)
    # What nobody counted on any more was in flight no longer when it came.
    note(row.abandoned_at or row.cleared_at, -1)


def _counted(connection: Connection, until: datetime) -> tuple[Mapping[Grain, Cells], Cells]:
    """All buckets; of the minutes those before `until`, and apart from them the others."""
    found: dict[Grain, dict[Cell, Numbers]] = {grain: {} for grain in Grain}
    tail: dict[Cell, Numbers] = {}
    for row in connection.execute(union_all(*(_all(grain) for grain in Grain))):
        grain, cell, numbers = Grain(row[0]), (row[1], row[2], row[3], row[4]), tuple(row[5:])
        is_tail = grain is Grain.MINUTE and cell[3] >= until
        (tail if is_tail else found[grain])[cell] = numbers
    return {grain: _nonzero(cells) for grain, cells in found.items()}, tail


def _all(grain: Grain) -> Select[Any]:
    table = TABLES[grain]
    columns = [table.c[name] for name in (*SERIES, "bucket_start", *COUNTS)]
    return select(literal_column(f"'{grain.value}'").label("grain"), *columns)


def _nonzero(cells: Cells) -> Cells:
    return {cell: numbers for cell, numbers in cells.items() if any(numbers)}


def _added(happened: Cells, tail: Cells, grain: Grain) -> Cells:
    """What happened, in buckets of this length."""
    found: dict[Cell, list[int]] = {}
    for cells in (happened, tail):
        for (version_id, group_hash, node, start), numbers in cells.items():
            held = found.setdefault((version_id, group_hash, node, bucket(start, grain)), [0, 0, 0, 0])
            for index, number in enumerate(numbers):
                held[index] += number
    return _nonzero({cell: tuple(numbers) for cell, numbers in found.items()})


def _row(difference: Difference) -> dict[str, object]:
    missing = [was - is_ for was, is_ in zip(difference.happened, difference.counted, strict=True)]
    return {**dict(zip(KEY, difference.cell, strict=True)), **dict(zip(COUNTS, missing, strict=True))}
