"""Buckets as callers read them: page by page, newest first, with what was in flight by then."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select, tuple_, union_all

from muster.model.stored import Page
from muster.store import stage_counts
from muster.store.database import Database
from muster.store.paging import read_cursor, write_cursor
from muster.store.stage_counts import COLUMNS
from muster.store.tables import stage_aggregate, stage_group, workflow_node
from muster.watch.aggregates import Bucket, WantedBuckets, running
from muster.watch.boards import Counts, Series
from muster.watch.rollups import spans

s = stage_aggregate.c
ORDER = (s.bucket_start, s.group_dim_hash, s.node_key)
NAME = "buckets"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)

_Row = tuple[Series, datetime, Counts]


class AggregateRepository:
    """`watch.aggregates.Buckets` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def buckets(self, wanted: WantedBuckets, page: Page) -> tuple[Sequence[Bucket], str | None]:
        return await self._database.read(lambda connection: _page(connection, wanted, page))


def _page(connection: Connection, wanted: WantedBuckets, page: Page) -> tuple[Sequence[Bucket], str | None]:
    after = None if page.cursor is None else _place(page.cursor)
    found = _rows(connection, _newest(connection, wanted, after, page.limit + 1))
    rows = found[: page.limit]
    if not rows:
        return [], None
    oldest = rows[-1][1]
    # Of the oldest minute all, also what is on the next page: totals begin before it.
    same = {row[:2]: row for row in [*rows, *_rows(connection, _at(wanted, oldest))]}
    before = stage_counts.total(connection, spans(None, oldest), [wanted.version_id], wanted.group_hash)
    totals = running({series: counts.in_flight for series, counts in before.items()}, same.values())
    groups = _groups(connection, wanted)
    items = [
        Bucket(series, groups.get(series.group_hash), start, totals[series, start], counts)
        for series, start, counts in rows
    ]
    return items, write_cursor(NAME, _position(rows[-1])) if len(found) > len(rows) else None


def _newest(
    connection: Connection, wanted: WantedBuckets, after: tuple[datetime, str, str] | None, limit: int
) -> Select[Any]:
    """With a group, the newest of each of its nodes: the key leads there, however many groups there are."""
    conditions = _conditions(wanted)
    if after is not None:
        conditions += [s.bucket_start <= after[0], tuple_(*ORDER) < after]
    if wanted.group_hash is None:
        return select(*COLUMNS).where(*conditions).order_by(*_descending(ORDER)).limit(limit)
    nodes = select(workflow_node.c.node_key).where(workflow_node.c.workflow_version_id == wanted.version_id)
    parts = [
        select(*COLUMNS)
        .where(*conditions, s.node_key == node)
        .order_by(s.bucket_start.desc())
        .limit(limit)
        .subquery()
        for node in connection.scalars(nodes)
    ]
    whole = union_all(*(select(part) for part in parts)).subquery()
    order = [whole.c[column.name] for column in ORDER]
    return select(whole).order_by(*_descending(order)).limit(limit)


def _descending(columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[Any]]:
    return [column.desc() for column in columns]


def _conditions(wanted: WantedBuckets) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [s.workflow_version_id == wanted.version_id]
    if wanted.group_hash is not None:
        found.append(s.group_dim_hash == wanted.group_hash)
    if wanted.since is not None:
        found.append(s.bucket_start >= wanted.since)
    if wanted.until is not None:
        found.append(s.bucket_start < wanted.until)
    return found


def _at(wanted: WantedBuckets, start: datetime) -> Select[Any]:
    return select(*COLUMNS).where(*_conditions(wanted), s.bucket_start == start)


def _rows(connection: Connection, chosen: Select[Any]) -> Sequence[_Row]:
    return [(Series(*row[:3]), row[3], Counts(*row[4:])) for row in connection.execute(chosen)]


def _groups(connection: Connection, wanted: WantedBuckets) -> dict[str, Any]:
    g = stage_group.c
    chosen = select(g.group_dim_hash, g.group_dims).where(g.workflow_version_id == wanted.version_id)
    if wanted.group_hash is not None:
        chosen = chosen.where(g.group_dim_hash == wanted.group_hash)
    return {row[0]: row[1] for row in connection.execute(chosen)}


def _position(row: _Row) -> tuple[int, str, str]:
    series, start, _ = row
    return (start - _EPOCH) // _MINUTE, series.group_hash, series.node


def _place(cursor: str) -> tuple[datetime, str, str]:
    minute, group_hash, node = read_cursor(NAME, cursor, ORDER)
    return _EPOCH + int(minute) * _MINUTE, str(group_hash), str(node)
