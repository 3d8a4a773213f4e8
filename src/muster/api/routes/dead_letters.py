"""Dead letters: what could not be brought to its end, to be tried again or let be."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_shapes import Reason
from muster.api.guard import Operator, Viewer
from muster.api.letter_shapes import LetterItem, LetterPage, Redrive
from muster.api.listing import Listed
from muster.api.moments import Moment
from muster.api.parts import Given
from muster.api.problems import Code, clash
from muster.api.reading import read_optional_body
from muster.api.strict import StrictRoute
from muster.engine.actions import By, NoSuchNode, Retry
from muster.engine.letters import DeadLetter, LetterKind, LetterStatus, WantedLetters
from muster.model.access import Role

router = APIRouter(route_class=StrictRoute, tags=["dead letters"])
Route = TypeVar("Route", bound=Callable[..., object])
Id = Annotated[int, Path(ge=1, le=2**63 - 1, description="A letter's number.")]


@router.get(
    "/api/dead-letters",
    summary="List dead letters, newest first",
    **described(LetterPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def list_letters(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    kind: Annotated[LetterKind | None, Query()] = None,
    status: Annotated[LetterStatus | None, Query()] = None,
    source: Annotated[str | None, Query(max_length=255, description="A workflow's key, say.")] = None,
    created_from: Annotated[Moment | None, Query(alias="from")] = None,
    created_to: Annotated[Moment | None, Query(alias="to")] = None,
) -> Response:
    wanted = WantedLetters(kind, status, source, created_from, created_to)
    found, following = await parts.letters.list(caller, wanted, listed)
    return answer(LetterPage(items=[_item(letter) for letter in found], next_cursor=following))


@router.get(
    "/api/dead-letters/{id}",
    summary="Read a dead letter",
    **described(LetterItem, Code.NOT_FOUND, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_letter(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(_item(await parts.letters.get(id, caller)))


def _action(
    name: str, summary: str, body: type[Redrive] | type[Reason], example: object
) -> Callable[[Route], Route]:
    return router.post(
        f"/api/dead-letters/{{id}}/{name}",
        summary=summary,
        **described(
            LetterItem,
            Code.NOT_FOUND,
            Code.INVALID_PARAMETER,
            Code.INVALID_BODY,
            Code.UNSUPPORTED_MEDIA_TYPE,
            Code.CONFLICT,
            Code.UNAVAILABLE,
            Code.OUTCOME_UNKNOWN,
            role=Role.OPERATOR,
            body=json_body(body, example),
            body_optional=True,
        ),
    )


@_action("redrive", "Try again what it is about", Redrive, {"reason": "the server is back"})
async def redrive(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Redrive, parts.body_limit)
    how = Retry(body.from_, body.context, body.version)
    try:
        return answer(_item(await parts.letters.redrive(id, By(caller, body.reason), how)))
    except NoSuchNode as error:
        raise clash(Code.CONFLICT, "/from", f"{error}.") from None


@_action("dismiss", "Let it be", Reason, {"reason": "no longer needed"})
async def dismiss(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    return answer(_item(await parts.letters.dismiss(id, By(caller, body.reason))))


def _item(letter: DeadLetter) -> LetterItem:
    return LetterItem.model_validate(letter)
