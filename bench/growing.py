"""Whether taking events in stays as quick when there are many of them.

    python bench/growing.py [MILLIONS] [postgres | sqlite]

The tables are filled by statements, up to so many occurrences (2 million, if left out) with runs,
expectations and events; on the way there, a few thousand events are taken in and measured, by the processor
time of this process and of the server's as well: on a machine with other things to do, those compare where
rates do not. From the slope of what an event takes of them over the logarithm of the size (an index grows by
a level when a table grew a hundredfold) follow the rates with 1, 10 and 100 million. PostgreSQL is the one
that `scripts/services.py` starts, or `TEST_POSTGRES_URL`.
"""

import asyncio
import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, text

from muster.app.garbage import look_rarely
from muster.store.database import Database
from muster.store.types import time_text
from muster.store.watched_graphs import WatchedGraphs
from watching import Feed, Measured, all_of, events, opened, watch

SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
PART = 100_000
MEASURED, BATCH = 16_000, 1_000
_FIRST = 1_000_000_000
# Four events of a key: its run, three expectations that were met, four occurrences.
_NUMBERS = """(WITH RECURSIVE counted (n) AS (
         SELECT CAST(:first AS bigint) UNION ALL SELECT n + 1 FROM counted WHERE n < CAST(:last AS bigint)
       ) SELECT n FROM counted) AS numbers"""
_FILL = (
    """INSERT INTO event_raw (institute_id, source_system, source_event_id, event_type, event_time,
                              received_at, correlation_key, event_group, payload)
       SELECT '', 'old', 'old-' || n, 'ORDERED', NOW, NOW, 'old-' || (n / 4),
              '{"shop": "s1"}', '{"order": "old", "total": 40}'
       FROM NUMBERS""",
    """INSERT INTO workflow_run (id, workflow_version_id, correlation_key, run_no, status, last_node_key,
                                 group_dims, group_dim_hash, state, seq, started_at, updated_at, finished_at)
       SELECT n / 4, (SELECT min(id) FROM workflow_version), 'old-' || (n / 4), 1, 'green', 'sent',
              '{"shop": "s1"}', 'old', '{"early": {}, "terminal": true}', 4, NOW, NOW, NOW
       FROM NUMBERS WHERE n % 4 = 0""",
    """INSERT INTO event_occurrence (workflow_run_id, node_key, source_system, event_id, event_time,
                                     received_at, late, counted_late, duplicate, order_violation, clamped,
                                     payload_excerpt)
       SELECT n / 4, 'sent', 'old', 'old-' || n, NOW, NOW, false, false, false, false, false,
              '{"order": "old", "total": 40}'
       FROM NUMBERS""",
    """INSERT INTO expectation (id, workflow_run_id, from_node_key, to_node_key, due_at, severity, status,
                                optional, leads, origin_id, created_at, cleared_at)
       SELECT n, n / 4, 'paid', 'sent', NOW, 'amber', 'cleared', false, true, n, NOW, NOW
       FROM NUMBERS WHERE n % 4 > 0""",
)


class Point(NamedTuple):
    """The logarithm of a size, microseconds of processors an event, and events a second."""

    size: float
    spent: float
    rate: float


async def fill(database: Database, first: int, last: int) -> None:
    now = f"'{time_text(datetime.now(UTC))}'" if database.dialect_name == "sqlite" else "now()"
    for start in range(first, last, PART):
        given = {"first": _FIRST + start, "last": _FIRST + min(start + PART, last) - 1}
        for statement in _FILL:
            spelled = statement.replace("NUMBERS", _NUMBERS).replace("NOW", now)
            await database.write(partial(_run, statement=spelled, given=given))
    await database.write(partial(_run, statement="ANALYZE", given={}))


def _run(connection: Connection, statement: str, given: dict[str, int]) -> None:
    connection.execute(text(statement), given)


async def main(millions: float, kinds: Sequence[str]) -> None:
    look_rarely()
    for kind in kinds:
        print(f"-- {kind}, up to {millions:g} million")  # what it is for
        async with opened(kind) as (_, database):
            await watch(database)
            extrapolate(await grown(database, millions, 2 if kind == "postgres" else 1))


async def grown(database: Database, millions: float, ways: int) -> list[Point]:
    """What an event takes of the processors, and how many there are a second, at each size."""
    measured, graphs, filled = Measured(database), WatchedGraphs(), 0
    points: list[Point] = []
    for share in SIZES:
        wanted = int(millions * 1_000_000 * share)
        await fill(database, filled, wanted)
        filled = wanted
        feed = Feed(database, graphs, ways)
        made = list(events(MEASURED, BATCH, f"g{wanted}"))
        parts = [made[start : start + BATCH] for start in range(0, len(made), BATCH)]
        name = f"with {wanted:,} before"
        await measured(name, len(made), partial(all_of, feed.events.take, parts))
        size = math.log10(max(wanted, MEASURED))
        points.append(Point(size, measured.spent[name] * 1e6, measured.rates[name]))
        await feed.close()
    return points


def extrapolate(points: Sequence[Point]) -> None:
    """By the least squares: what an event takes at so many, and the rate that goes with it."""
    x_mean = sum(point.size for point in points) / len(points)
    y_mean = sum(point.spent for point in points) / len(points)
    over = sum((point.size - x_mean) ** 2 for point in points)
    slope = sum((point.size - x_mean) * (point.spent - y_mean) for point in points) / over
    rate = sum(point.rate * point.spent for point in points) / len(points)
    print(f"an event takes {slope:+.1f} µs more for each tenfold, of {y_mean:.0f} µs")  # what it is for
    for millions in (1, 10, 100):
        each = y_mean + slope * (math.log10(millions * 1_000_000) - x_mean)
        print(f"{millions:>4} million occurrences: {each:5.0f} µs each, {rate / each:9,.0f} a second")


if __name__ == "__main__":
    numbers = [float(each) for each in sys.argv[1:] if each[0].isdigit()]
    named = [each for each in sys.argv[1:] if not each[0].isdigit()] or ["postgres", "sqlite"]
    asyncio.run(main(numbers[0] if numbers else 2.0, named))
