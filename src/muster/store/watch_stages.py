"""Stages whose messages another program sends: what they do is recorded with their positions, so each counts
once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, select

from muster.engine.bus import Batch, Refused, Rejected
from muster.engine.ports import NotWritten
from muster.model.watching import Trigger
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.dialect import insert_new
from muster.store.positions import record_positions
from muster.store.tables import stage_group, workflow_run
from muster.store.watch_alerts import write_alerts
from muster.store.watch_counts import Tally
from muster.store.watch_rules import GROUP_KEY
from muster.watch.alerts import Step
from muster.watch.stage_messages import Evaluated, Unreadable, read_evaluated, read_triggered

T = TypeVar("T")
R = workflow_run.c


class AggregateStage:
    """Counts what `rule.evaluated` tells: `engine.bus.Handler`."""

    records_positions = True

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        told = _read(batch, read_evaluated)

        def work(connection: Connection) -> None:
            record_positions(connection, batch.positions)
            _write_groups(connection, told)
            tally = Tally()
            for each in told:
                tally.add(
                    each.version_id,
                    each.group_hash,
                    each.node,
                    each.at,
                    completed=each.completed,
                    late=each.late,
                    failed=each.failed,
                    in_flight=each.in_flight,
                )
            tally.write(connection)

        await _written(self._database, work)
        return []


class AlertStage:
    """Opens what `alerts.triggered` tells: `engine.bus.Handler`."""

    records_positions = True

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        told = _read(batch, read_triggered)

        def work(connection: Connection) -> None:
            record_positions(connection, batch.positions)
            steps: dict[str, list[Step]] = defaultdict(list)
            for each in _with_runs(connection, told):
                steps[each.dedupe_key].append(each)
            write_alerts(connection, steps)

        await _written(self._database, work)
        return []


def _read(batch: Batch, read: Callable[[bytes | None, datetime], T]) -> list[T]:
    """Raises `Refused` if one cannot be read."""
    found: list[T] = []
    wrong: list[Rejected] = []
    for message in batch.messages:
        try:
            found.append(read(message.value, message.at))
        except Unreadable as reason:
            wrong.append(Rejected(message, "INVALID_EVENT", str(reason)))
    if wrong:
        raise Refused(wrong)
    return found


async def _written(database: Database, work: Callable[[Connection], None]) -> None:
    try:
        await database.write(work)
    except TROUBLE as away:
        raise NotWritten(str(away)) from away


def _write_groups(connection: Connection, told: Sequence[Evaluated]) -> None:
    groups = {(each.version_id, each.group_hash): each for each in told}
    rows = [
        {
            "workflow_version_id": version_id,
            "group_dim_hash": hash_,
            "group_dims": groups[version_id, hash_].group,
            "created_at": groups[version_id, hash_].at,
        }
        for version_id, hash_ in sorted(groups)
    ]
    insert_new(connection, stage_group, rows, GROUP_KEY)


def _with_runs(connection: Connection, told: Sequence[Trigger]) -> list[Trigger]:
    """With the groups and tenants of their runs, where those are kept here."""
    ids = sorted({each.run_id for each in told if each.run_id is not None})
    chosen = select(R.id, R.group_dim_hash, R.institute_id).where(R.id.in_(ids))
    runs = {row.id: row for row in connection.execute(chosen)} if ids else {}
    return [
        replace(each, group_hash=run.group_dim_hash, institute_id=run.institute_id)
        if each.run_id is not None and (run := runs.get(each.run_id)) is not None
        else each
        for each in told
    ]
