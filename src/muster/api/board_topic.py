"""The wallboard, followed: first all of it, then the workflows that have changed."""

import hashlib
from collections.abc import Mapping

import orjson

from muster.api.board_answers import entries_of
from muster.api.shapes import Shape
from muster.api.topics import Follower
from muster.api.watch_shapes import BoardEntry
from muster.model.access import Caller
from muster.watch.boards import Tile, Wallboard, WorkflowBoard

WALLBOARD = "wallboard"


class BoardChanged(Shape):
    """Workflows as they stand now that they have changed; `gone` are the ids of those that are on the
    board no longer."""

    workflows: list[BoardEntry]
    gone: list[str]


class BoardTopic:
    def __init__(self, wallboard: Wallboard) -> None:
        self._wallboard = wallboard

    def follow(self, actor: Caller, place: str | None) -> Follower:
        return _BoardFollower(self._wallboard, actor)


class _BoardFollower:
    """Every follower begins with the whole board: what changed in between, nobody has to remember."""

    place = "0"

    def __init__(self, wallboard: Wallboard, actor: Caller) -> None:
        self._wallboard, self._actor = wallboard, actor
        self._told: Mapping[str, bytes] = {}
        self._began = False

    async def look(self) -> BoardChanged | None:
        board = await self._wallboard.look(self._actor.institute_id)
        now = {each.workflow.id: _digest(each) for each in board.workflows}
        changed = [
            each for each in board.workflows if self._told.get(each.workflow.id) != now[each.workflow.id]
        ]
        gone = sorted(self._told.keys() - now.keys())
        self._told, first = now, not self._began
        self._began = True
        if not changed and not gone and not first:
            return None
        return BoardChanged.model_validate({"workflows": entries_of(changed, board.at), "gone": gone})


def _digest(board: WorkflowBoard) -> bytes:
    """What tells how it stands, whatever time has passed meanwhile."""
    stands = [
        (group.group_hash, group.status, [_stand(tile) for tile in group.tiles]) for group in board.groups
    ]
    return hashlib.sha256(orjson.dumps([board.workflow.version_id, board.workflow.name, stands])).digest()


def _stand(tile: Tile) -> list[object]:
    counts = tile.counts
    return [
        tile.node,
        tile.in_flight,
        counts.completed,
        counts.late,
        counts.failed,
        tile.status,
        tile.next_due_at,
        tile.overdue_since,
    ]
