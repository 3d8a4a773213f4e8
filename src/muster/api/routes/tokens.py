"""API tokens: made by an administrator, shown once, kept as a hash."""

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.auth.issuing import Wish, make_token
from muster.api.auth.issuing import revoke_token as end_token
from muster.api.describe import described, json_body
from muster.api.guard import Admin
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, Refused, wrong
from muster.api.reading import read_body
from muster.api.shapes import TokenBody, TokenMade, TokenPage, TokenRow
from muster.api.strict import StrictRoute
from muster.model.access import Caller, Role
from muster.model.problems import AuthorError

router = APIRouter(route_class=StrictRoute, tags=["tokens"])

_EXAMPLE = {"name": "warehouse events", "roles": ["producer"], "expiresAt": "2030-01-01T00:00:00Z"}


@router.post(
    "/api/tokens",
    summary="Make a token",
    **described(
        TokenMade,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.ADMIN,
        status=201,
        body=json_body(TokenBody, _EXAMPLE),
        notes="The answer holds the token itself, this once.",
    ),
)
async def create_token(request: Request, caller: Admin, parts: Given) -> Response:
    body = await read_body(request, TokenBody, parts.body_limit)
    wish = Wish(body.name, body.roles, _institute(caller, body), body.expires_at)
    try:
        made, secret = await make_token(parts.tokens, wish, caller.name, parts.clock.now(), parts.ids)
    except AuthorError as error:
        raise Refused(Code.INVALID_BODY, str(error), problems=error.problems) from None
    return answer(TokenMade.model_validate({**asdict(made), "token": secret}), 201)


@router.get(
    "/api/tokens",
    summary="List tokens",
    **described(TokenPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.ADMIN),
)
async def list_tokens(caller: Admin, parts: Given, listed: Listed) -> Response:
    found, following = await parts.tokens.list(caller.institute_id, listed)
    return answer(TokenPage(items=[TokenRow.model_validate(token) for token in found], next_cursor=following))


@router.delete(
    "/api/tokens/{id}",
    summary="Revoke a token",
    **described(None, Code.NOT_FOUND, Code.UNAVAILABLE, Code.OUTCOME_UNKNOWN, role=Role.ADMIN, status=204),
)
async def revoke_token(id: str, caller: Admin, parts: Given) -> Response:
    if not await end_token(parts.tokens, caller.institute_id, id, caller.name):
        raise Refused(Code.NOT_FOUND, f"There is no live token {id[:100]!r}.")
    return Response(status_code=204)


def _institute(caller: Caller, body: TokenBody) -> str | None:
    """A caller of one institute makes tokens for it alone."""
    if caller.institute_id is not None and body.institute_id not in (None, caller.institute_id):
        raise wrong("/instituteId", "A token can only be made for your own institute.")
    return caller.institute_id if caller.institute_id is not None else body.institute_id
