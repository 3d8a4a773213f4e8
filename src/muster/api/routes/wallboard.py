"""How everything stands that is watched: the wallboard, and counts minute by minute."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from muster.api.answers import JsonAnswer, answer
from muster.api.board_answers import board_of, bucket_of
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.moments import Moment
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.api.watch_shapes import BoardShape, BucketPage
from muster.model.access import Role
from muster.model.stored import Page
from muster.watch.aggregates import WantedBuckets
from muster.watch.boards import RECENT

router = APIRouter(route_class=StrictRoute, tags=["wallboard"])

VersionId = Annotated[
    int, Path(alias="versionId", ge=1, le=2**63 - 1, description="The id of a version: its `versionId`.")
]


@router.get(
    "/workflows/{versionId}/aggregates",
    summary="Read what a version has counted, minute by minute",
    **described(
        BucketPage,
        Code.NOT_FOUND,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Newest first; minutes in which nothing happened are left out.",
    ),
)
async def list_buckets(
    version_id: VersionId,
    caller: Viewer,
    parts: Given,
    group_hash: Annotated[str | None, Query(alias="groupHash", max_length=64)] = None,
    since: Annotated[
        Moment | None, Query(alias="from", description="Minutes that begin then, or later.")
    ] = None,
    until: Annotated[Moment | None, Query(alias="to", description="Minutes that begin before then.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 200,
    cursor: Annotated[
        str | None, Query(max_length=1000, description="The `nextCursor` of the page before.")
    ] = None,
) -> Response:
    await parts.watched.library.by_version(version_id, caller)
    wanted = WantedBuckets(version_id, group_hash, since, until)
    found, following = await parts.watched.buckets.buckets(wanted, Page(limit, cursor))
    return answer(BucketPage(items=[bucket_of(each) for each in found], next_cursor=following))


@router.get(
    "/wallboard",
    summary="See how everything stands",
    **described(
        BoardShape,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="By workflow, group and node: what is in flight now, and what was completed, late or failed "
        "since then. `/api/stream?topics=wallboard` tells what changes.",
    ),
)
async def get_wallboard(
    caller: Viewer,
    parts: Given,
    since: Annotated[
        Moment | None, Query(description="By default a day ago; counted from its minute on.")
    ] = None,
    recent: Annotated[int, Query(ge=0, le=60, description="So many minutes are shown one by one.")] = RECENT,
) -> Response:
    board = await parts.watched.wallboard.look(caller.institute_id, since, recent)
    return JsonAnswer(board_of(board), 200)
