"""Which instances are there."""

from fastapi import APIRouter, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.instance_shapes import InstancePage, instance_row
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["instances"])


@router.get(
    "/api/instances",
    summary="List the instances on this database",
    **described(
        InstancePage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="By their names. One that ends says so and is not listed any more; one that is `gone` is "
        "listed for a day, or until its name starts again. They serve all institutes alike.",
    ),
)
async def list_instances(caller: Viewer, parts: Given, listed: Listed) -> Response:
    found, following = await parts.instances.list(listed)
    return answer(InstancePage(items=[instance_row(each) for each in found], next_cursor=following))
