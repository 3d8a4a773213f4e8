"""The wallboard and buckets as callers get them."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from muster.api.watch_shapes import BucketRow
from muster.watch.aggregates import Bucket
from muster.watch.boards import Board, GroupBoard, Tile, WorkflowBoard

_TIMES = orjson.OPT_UTC_Z


def bucket_of(bucket: Bucket) -> BucketRow:
    return BucketRow(
        workflow_version_id=bucket.series.version_id,
        group_hash=bucket.series.group_hash,
        group=bucket.group,
        node=bucket.series.node,
        bucket_start=bucket.start,
        in_flight=bucket.in_flight,
        in_flight_delta=bucket.counts.in_flight,
        completed=bucket.counts.completed,
        late=bucket.counts.late,
        failed=bucket.counts.failed,
    )


def board_of(board: Board) -> bytes:
    """As `BoardShape` says, written at once: a board has thousands of parts."""
    return orjson.dumps(
        {"at": board.at, "since": board.since, "workflows": entries_of(board.workflows, board.at)},
        option=_TIMES,
    )


def entries_of(workflows: Sequence[WorkflowBoard], at: datetime) -> list[dict[str, object]]:
    return [
        {
            "key": each.workflow.key,
            "name": each.workflow.name,
            "versionId": each.workflow.version_id,
            "status": each.status,
            "groups": [_group(group, at) for group in each.groups],
        }
        for each in workflows
    ]


def _group(group: GroupBoard, at: datetime) -> dict[str, object]:
    return {
        "groupHash": group.group_hash,
        "group": group.group,
        "status": group.status,
        "nodes": [_tile(tile, at) for tile in group.tiles],
    }


def _tile(tile: Tile, at: datetime) -> dict[str, object]:
    due = tile.next_due_at
    return {
        "node": tile.node,
        "inFlight": tile.in_flight,
        "completed": tile.counts.completed,
        "late": tile.counts.late,
        "failed": tile.counts.failed,
        "status": tile.status,
        "nextDueAt": due,
        "overdueSince": tile.overdue_since,
        "countdownSec": None if due is None else round((due - at).total_seconds(), 3),
        "recent": [
            {
                "bucketStart": start,
                "inFlightDelta": counts.in_flight,
                "completed": counts.completed,
                "late": counts.late,
                "failed": counts.failed,
            }
            for start, counts in sorted(tile.recent.items())
        ],
    }
