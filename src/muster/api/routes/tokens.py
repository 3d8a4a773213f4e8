"""API tokens: made by an administrator, shown once, kept as a hash."""

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from muster.api.answers import answer
from muster.api.auth import hash_token, new_token
from muster.api.describe import described, json_body
from muster.api.guard import Admin
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import read_body
from muster.api.shapes import TokenBody, TokenMade, TokenPage, TokenRow
from muster.api.strict import StrictRoute
from muster.model.access import Caller, Role
from muster.model.problems import Problem
from muster.model.stored import ApiToken, AuditEntry

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
    now = parts.clock.now()
    secret = new_token()
    made = ApiToken(
        id=parts.ids.new(),
        name=body.name,
        roles=_roles(body),
        institute_id=_institute(caller, body),
        created_by=caller.name,
        created_at=now,
        expires_at=body.expires_at,
        revoked_at=None,
    )
    if body.expires_at is not None and (body.expires_at.tzinfo is None or body.expires_at <= now):
        raise _wrong("/expiresAt", "A time with its offset, in the future, is expected.")
    await parts.tokens.create(made, hash_token(secret), _audit(made.id, "create", caller))
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
    if not await parts.tokens.revoke(caller.institute_id, id, _audit(id, "revoke", caller)):
        raise Refused(Code.NOT_FOUND, f"There is no live token {id[:100]!r}.")
    return Response(status_code=204)


def _roles(body: TokenBody) -> tuple[str, ...]:
    known = {role.value for role in Role}
    for place, name in enumerate(body.roles):
        if name not in known:
            raise _wrong(f"/roles/{place}", f"There is no role {name[:100]!r}: {', '.join(sorted(known))}.")
    return tuple(dict.fromkeys(body.roles))


def _institute(caller: Caller, body: TokenBody) -> str | None:
    """A caller of one institute makes tokens for it alone."""
    if caller.institute_id is not None and body.institute_id not in (None, caller.institute_id):
        raise _wrong("/instituteId", "A token can only be made for your own institute.")
    return caller.institute_id if caller.institute_id is not None else body.institute_id


def _wrong(pointer: str, message: str) -> Refused:
    return Refused(Code.INVALID_BODY, message, problems=[Problem("INVALID_VALUE", pointer, message)])


def _audit(token_id: str, action: str, caller: Caller) -> AuditEntry:
    return AuditEntry("api_token", token_id, action, caller.name, caller.institute_id or "")
