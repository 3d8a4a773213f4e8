"""What was counted, added up over stretches of time from buckets of a minute, an hour and a day."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, func, select, union_all

from muster.store.tables import stage_aggregate, stage_aggregate_day, stage_aggregate_hour
from muster.watch.boards import Counts, Series
from muster.watch.rollups import Grain, Span

TABLES: Mapping[Grain, Table] = {
    Grain.MINUTE: stage_aggregate,
    Grain.HOUR: stage_aggregate_hour,
    Grain.DAY: stage_aggregate_day,
}
SERIES = ("workflow_version_id", "group_dim_hash", "node_key")
COUNTS = ("in_flight", "completed", "late", "failed")
COLUMNS = [stage_aggregate.c[name] for name in (*SERIES, "bucket_start", *COUNTS)]


def total(
    connection: Connection, spans: Sequence[Span], versions: Sequence[int], group: str | None = None
) -> dict[Series, Counts]:
    """What each series of these versions comes to over all the spans together, in one statement."""
    if not spans or not versions:
        return {}
    parts = [_summed(span, versions, group) for span in spans]
    whole = union_all(*parts).subquery()
    keys = [whole.c[name] for name in SERIES]
    found = connection.execute(select(*keys, *(func.sum(whole.c[name]) for name in COUNTS)).group_by(*keys))
    # MariaDB adds integers up to a decimal.
    return {Series(*row[:3]): Counts(*map(int, row[3:])) for row in found}


def _summed(span: Span, versions: Sequence[int], group: str | None) -> Select[Any]:
    table = TABLES[span.grain]
    keys = [table.c[name] for name in SERIES]
    sums = [func.sum(table.c[name]).label(name) for name in COUNTS]
    return select(*keys, *sums).where(*within(table, span, versions, group)).group_by(*keys)


def within(
    table: Table, span: Span, versions: Sequence[int], group: str | None = None
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [table.c.workflow_version_id.in_(versions)]
    if group is not None:
        conditions.append(table.c.group_dim_hash == group)
    if span.start is not None:
        conditions.append(table.c.bucket_start >= span.start)
    if span.end is not None:
        conditions.append(table.c.bucket_start < span.end)
    return conditions


def minutes(
    connection: Connection, since: datetime, versions: Sequence[int]
) -> dict[Series, list[tuple[datetime, Counts]]]:
    """Every minute from `since` on in which anything was counted, in their order."""
    chosen = select(*COLUMNS).where(*within(stage_aggregate, Span(Grain.MINUTE, since, None), versions))
    found: dict[Series, list[tuple[datetime, Counts]]] = {}
    for row in connection.execute(chosen.order_by(stage_aggregate.c.bucket_start)):
        found.setdefault(Series(*row[:3]), []).append((row[3], Counts(*row[4:])))
    return found
