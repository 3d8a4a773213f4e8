"""Whether taking events in stays as quick when there are many of them.

    python bench/growing.py [MILLIONS]

The tables are filled by statements, up to so many occurrences (2 million, if left out) with runs,
expectations and events; on the way there, a few thousand events are taken in and measured, by the processor
time of this process and of the server's as well: on a machine with other things to do, those compare where
rates do not. From their slope over the logarithm of the size (an index grows by a level when a table grew
a hundredfold) follows what 1, 10 and 100 million come to. PostgreSQL is the one that `scripts/services.py`
starts, or `TEST_POSTGRES_URL`.
"""

import asyncio
import math
import sys
from functools import partial

from sqlalchemy import Connection, text

from muster.app.garbage import look_rarely
from muster.store.database import Database
from muster.store.watched_graphs import WatchedGraphs
from support.spent import spent_by_server
from watching import Feed, Measured, all_of, events, opened, watch

SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
PART = 100_000
MEASURED, BATCH = 16_000, 1_000
_FIRST = 1_000_000_000
# Four events of a key: its run, three expectations that were met, four occurrences.
_FILL = (
    """INSERT INTO event_raw (institute_id, source_system, source_event_id, event_type, event_time,
                              received_at, correlation_key, event_group, payload)
       SELECT '', 'old', md5(n::text), 'ORDERED', now(), now() - interval '1 day', 'old-' || n / 4,
              '{"shop": "s1"}', '{"order": "old", "total": 40}'
       FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) n""",
    """INSERT INTO workflow_run (id, workflow_version_id, correlation_key, run_no, status, last_node_key,
                                 group_dims, group_dim_hash, state, seq, started_at, updated_at, finished_at)
       SELECT n, (SELECT min(id) FROM workflow_version), 'old-' || n, 1, 'green', 'sent', '{"shop": "s1"}',
              'old', '{"early": {}, "terminal": true}', 4, now(), now(), now()
       FROM generate_series(CAST(:first AS bigint) / 4, CAST(:last AS bigint) / 4) n""",
    """INSERT INTO event_occurrence (workflow_run_id, node_key, source_system, event_id, event_time,
                                     received_at, late, counted_late, duplicate, order_violation, clamped,
                                     payload_excerpt)
       SELECT n / 4, 'sent', 'old', md5(n::text), now(), now(), false, false, false, false, false,
              '{"order": "old", "total": 40}'
       FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) n""",
    """INSERT INTO expectation (id, workflow_run_id, from_node_key, to_node_key, due_at, severity, status,
                                optional, leads, origin_id, created_at, cleared_at)
       SELECT n, n / 4, 'paid', 'sent', now(), 'amber', 'cleared', false, true, n, now(), now()
       FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) n WHERE n % 4 > 0""",
)


async def fill(database: Database, first: int, last: int) -> None:
    for start in range(first, last, PART):
        given = {"first": _FIRST + start, "last": _FIRST + min(start + PART, last) - 1}
        for statement in _FILL:
            await database.write(partial(_run, statement=statement, given=given))
    await database.write(partial(_run, statement="ANALYZE", given={}))


def _run(connection: Connection, statement: str, given: dict[str, int]) -> None:
    connection.execute(text(statement), given)


async def main(millions: float) -> None:
    look_rarely()
    async with opened("postgres") as (_, database):
        await watch(database)
        measured, graphs, filled = Measured(database), WatchedGraphs(), 0
        points: list[tuple[float, float]] = []
        for share in SIZES:
            wanted = int(millions * 1_000_000 * share)
            await fill(database, filled, wanted)
            filled = wanted
            feed = Feed(database, graphs, 2)
            made = list(events(MEASURED, BATCH, f"g{wanted}"))
            parts = [made[start : start + BATCH] for start in range(0, len(made), BATCH)]
            before = await spent_by_server(database)
            work = partial(all_of, feed.events.take, parts)
            await measured(f"with {wanted:,} before", len(made), work)
            theirs = (await spent_by_server(database) - before) / len(made) * 1e6
            points.append((math.log10(max(wanted, MEASURED)), theirs))
            await feed.close()
        extrapolate(points)


def extrapolate(points: list[tuple[float, float]]) -> None:
    """By the least squares: what an event costs the server at so many."""
    x_mean, y_mean = (sum(part) / len(points) for part in zip(*points, strict=True))
    over = sum((x - x_mean) ** 2 for x, _ in points)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / over
    print(f"the server takes {slope:+.1f} µs for each tenfold, of {y_mean:.0f} µs")  # what it is for
    for millions in (1, 10, 100):
        at = y_mean + slope * (math.log10(millions * 1_000_000) - x_mean)
        print(f"{millions:>4} million occurrences: {at:5.0f} µs of the server's each")


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0))
