"""How long the wallboard and aggregates take over a long history.

    python bench/wallboard.py [BUCKETS] [LOOKS]

Ten workflows of five nodes and four groups, with something in every minute of as long as that takes; 100,000
expectations pending and 5,000 alerts open. Each look is timed as a caller sees it, to the written answer, and
by the processor time of this process. PostgreSQL is the one that `scripts/services.py` starts, or
`TEST_POSTGRES_URL`.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, text

from muster.api.board_answers import board_of, bucket_of
from muster.api.watch_shapes import BucketPage
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.model.json import JsonObject
from muster.model.stored import Page
from muster.store.aggregates import AggregateRepository
from muster.store.boards import BoardRepository
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.aggregates import WantedBuckets
from muster.watch.boards import Wallboard
from muster.watch.library import WatchedLibrary
from support.engine import postgres_database
from support.spent import spent_by_server

WORKFLOWS, GROUPS, NODES = 10, 4, 5
SERIES = WORKFLOWS * GROUPS * NODES
PENDING, OPEN = 100_000, 5_000
AHEAD = 3
CALLER = Caller("bench", frozenset({Role.ADMIN}), None, How.LOOPBACK)

_SERIES = f"""
    SELECT v.id AS version_id, md5(g::text) AS group_hash, 'n' || n AS node_key
    FROM workflow_version v, generate_series(1, {GROUPS}) g, generate_series(0, {NODES - 1}) n
"""
# From a few minutes ahead on: filling takes as long.
_MINUTES = f"""
    INSERT INTO stage_aggregate
    SELECT version_id, group_hash, node_key, to_timestamp((CAST(:now AS bigint) - m) * 60),
           CASE WHEN m % 2 = 0 THEN 1 ELSE -1 END, 3, m % 50 / 49, m % 90 / 89
    FROM generate_series(CAST(:first AS int), CAST(:last AS int)) m, ({_SERIES}) s
"""
_ROLLUP = """
    INSERT INTO stage_aggregate_{grain}
    SELECT workflow_version_id, group_dim_hash, node_key, date_trunc('{grain}', bucket_start, 'UTC'),
           sum(in_flight), sum(completed), sum(late), sum(failed)
    FROM stage_aggregate GROUP BY 1, 2, 3, 4
"""
_GROUPS = f"""
    INSERT INTO stage_group
    SELECT v.id, md5(g::text), jsonb_build_object('region', g), now()
    FROM workflow_version v, generate_series(1, {GROUPS}) g
"""
_RUNS = f"""
    INSERT INTO workflow_run (id, workflow_version_id, correlation_key, run_no, status, group_dim_hash, seq,
                              started_at, updated_at)
    SELECT k, (SELECT min(id) FROM workflow_version) + k % {WORKFLOWS}, 'K' || k, 1, 'green',
           md5((1 + k % {GROUPS})::text), 1, now(), now()
    FROM generate_series(1, {PENDING}) k
"""
_EXPECTATIONS = f"""
    INSERT INTO expectation (id, workflow_run_id, from_node_key, to_node_key, due_at, severity, status,
                             optional, leads, origin_id, created_at)
    SELECT k, k, 'n0', 'n' || (1 + k % {NODES - 1}), now() + k * interval '1 second', 'amber', 'pending',
           false, true, k, now()
    FROM generate_series(1, {PENDING}) k
"""
_ALERTS = f"""
    INSERT INTO alert (dedupe_key, workflow_version_id, workflow_run_id, node_key, correlation_key,
                       group_dim_hash, severity, reason, state, count, first_triggered_at, last_triggered_at)
    SELECT 'd' || k, workflow_version_id, id, 'n1', correlation_key, group_dim_hash, 'amber',
           'EXPECTED_MISSED', 'open', 1, now(), now()
    FROM workflow_run, generate_series(1, {OPEN}) k WHERE id = k
"""


def graph(number: int) -> JsonObject:
    nodes: list[JsonObject] = [
        {"key": f"n{n}", "eventType": f"W{number}_{n}", "start": n == 0} for n in range(NODES)
    ]
    edges: list[JsonObject] = [
        {"from": f"n{n}", "to": f"n{n + 1}", "maxLatencySec": 60} for n in range(NODES - 1)
    ]
    return {
        "key": f"w{number}",
        "graph": {"nodes": [*nodes], "edges": [*edges]},
        "groupDimensions": ["region"],
    }


async def fill(database: Database, buckets: int) -> None:
    library = WatchedLibrary(WatchedWorkflowRepository(database), TimeOrderedIds())
    for number in range(WORKFLOWS):
        await library.create(graph(number), CALLER)
    minutes, now = buckets // SERIES, int(time.time()) // 60 + AHEAD
    for first in range(0, minutes, 2_000):
        span = {"now": now, "first": first, "last": min(first + 2_000, minutes) - 1}
        await run(database, _MINUTES, **span)
    for statement in (
        _ROLLUP.format(grain="hour"),
        _ROLLUP.format(grain="day"),
        _GROUPS,
        _RUNS,
        _EXPECTATIONS,
        _ALERTS,
        "ANALYZE",
    ):
        await run(database, statement)


async def run(database: Database, statement: str, **given: int) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement), given)

    await database.write(work)


async def measured(database: Database, name: str, look: Callable[[], Awaitable[int]], looks: int) -> None:
    for _ in range(5):
        size = await look()
    took, spent = [], []
    before = await spent_by_server(database)
    for _ in range(looks):
        wall, cpu = time.perf_counter(), time.process_time()
        await look()
        took.append(time.perf_counter() - wall)
        spent.append(time.process_time() - cpu)
    theirs = (await spent_by_server(database) - before) / looks
    took.sort()
    spent.sort()
    half, most = looks // 2, int(looks * 0.99)
    print(  # what it is for
        f"{name:<34} p50 {took[half] * 1e3:6.1f} ms, p99 {took[most] * 1e3:6.1f} ms; of this process"
        f" p50 {spent[half] * 1e3:5.1f} ms, p99 {spent[most] * 1e3:5.1f} ms; of the server's"
        f" {theirs * 1e3:5.1f} ms; {size:,} bytes"
    )


async def main(buckets: int, looks: int) -> None:
    async with postgres_database() as url:
        database = open_database(url)
        try:
            await migrate(database)
            await fill(database, buckets)
            await measure(database, looks)
        finally:
            await database.close()


async def measure(database: Database, looks: int) -> None:
    board = Wallboard(BoardRepository(database), SystemClock())
    aggregates = AggregateRepository(database)
    month = datetime.now(UTC) - timedelta(days=30)
    look = await board.look(None)
    version, group = look.workflows[0].workflow.version_id, look.workflows[0].groups[0].group_hash

    async def wallboard(since: datetime | None = None) -> int:
        return len(board_of(await board.look(None, since)))

    async def buckets(wanted: WantedBuckets) -> int:
        found, following = await aggregates.buckets(wanted, Page(200))
        page = BucketPage(items=[bucket_of(each) for each in found], next_cursor=following)
        return len(page.model_dump_json(by_alias=True))

    gc.collect()
    gc.freeze()  # as a server does
    await measured(database, "wallboard, a day", wallboard, looks)
    await measured(database, "wallboard, thirty days", lambda: wallboard(month), looks)
    await measured(database, "aggregates of a version", lambda: buckets(WantedBuckets(version)), looks)
    await measured(database, "aggregates of a group", lambda: buckets(WantedBuckets(version, group)), looks)
    earlier = WantedBuckets(version, group, None, month)
    await measured(database, "aggregates of a group, a month ago", lambda: buckets(earlier), looks)


if __name__ == "__main__":
    given = [int(each.replace("_", "")) for each in sys.argv[1:]]
    asyncio.run(main(given[0] if given else 10_000_000, given[1] if len(given) > 1 else 200))
