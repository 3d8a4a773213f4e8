"""Who the caller is."""

from fastapi import APIRouter, Response

from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.shapes import Me
from muster.api.strict import StrictRoute
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["tokens"])


@router.get(
    "/api/me",
    summary="Say who you are",
    **described(Me, role=Role.VIEWER, notes="What the console shows, and hides, goes by it."),
)
async def me(caller: Viewer) -> Response:
    may = [role.value for role in Role if caller.may(role)]
    return answer(Me(name=caller.name, may=may, institute_id=caller.institute_id, how=caller.how.value))
