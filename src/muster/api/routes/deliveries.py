"""Messages to people and what became of them; and what WhatsApp reports of those it took."""

import hmac
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import PlainTextResponse

from muster.api.answers import answer
from muster.api.delivery_shapes import DeliveryItem, DeliveryPage, ReportsTaken
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code, Refused
from muster.api.reading import check_json
from muster.api.strict import StrictRoute
from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.model.access import Role
from muster.model.problems import AuthorError
from muster.nodes.ports import Channel, DeliveryStatus
from muster.nodes.whatsapp_reports import is_signed, read_reports

router = APIRouter(route_class=StrictRoute, tags=["deliveries"])
# Whoever calls here sends what they send: names that are not known are passed over.
open_router = APIRouter(tags=["deliveries"])

PATH = "/api/webhooks/whatsapp"
_STATUS = {"id": "wamid.HBgN", "status": "delivered", "timestamp": "1763200000", "recipient_id": "15550001"}
_CHANGE = {"field": "messages", "value": {"messaging_product": "whatsapp", "statuses": [_STATUS]}}
_EXAMPLE = {
    "object": "whatsapp_business_account",
    "entry": [{"id": "102290129340398", "changes": [_CHANGE]}],
}


@router.get(
    "/api/deliveries",
    summary="List what was sent",
    **described(
        DeliveryPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER
    ),
)
async def list_deliveries(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    execution: Annotated[str | None, Query(max_length=36, description="An execution's id.")] = None,
    channel: Annotated[Channel | None, Query()] = None,
    status: Annotated[DeliveryStatus | None, Query()] = None,
) -> Response:
    found, following = await parts.deliveries.list(caller.institute_id, listed, execution, channel, status)
    rows = [DeliveryItem.model_validate(delivery) for delivery in found]
    return answer(DeliveryPage(items=rows, next_cursor=following))


@open_router.get(
    PATH,
    summary="Answer WhatsApp's question whether this is its webhook",
    **described(
        None,
        Code.FORBIDDEN,
        Code.INVALID_PARAMETER,
        Code.NOT_CONFIGURED,
        content={"text/plain": {"schema": {"type": "string"}}},
    ),
)
async def verify_webhook(
    parts: Given,
    mode: Annotated[str, Query(alias="hub.mode", max_length=100)] = "",
    token: Annotated[str, Query(alias="hub.verify_token", max_length=1000)] = "",
    challenge: Annotated[str, Query(alias="hub.challenge", max_length=1000)] = "",
) -> Response:
    expected = _configured(parts.whatsapp.verify_token, "whatsapp.verify-token")
    if mode != "subscribe" or not hmac.compare_digest(token.encode(), expected.encode()):
        raise Refused(Code.FORBIDDEN, "The verify token is not the one that is set here.")
    return PlainTextResponse(challenge)


@open_router.post(
    PATH,
    summary="Take WhatsApp's reports",
    **described(
        ReportsTaken,
        Code.UNAUTHENTICATED,
        Code.INVALID_PARAMETER,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.NOT_CONFIGURED,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        body={"application/json": {"schema": {"type": "object"}, "example": _EXAMPLE}},
        notes="Signed with the app's secret in `X-Hub-Signature-256`. A report may come twice, late, or for "
        "a message that is not ours: it is taken all the same.",
    ),
)
async def take_reports(
    request: Request,
    parts: Given,
    signature: Annotated[str, Header(alias="X-Hub-Signature-256", max_length=200)] = "",
) -> Response:
    secret = _configured(parts.whatsapp.app_secret, "whatsapp.app-secret")
    check_json(request)
    raw = await request.body()
    if not is_signed(secret, raw, signature):
        raise Refused(Code.UNAUTHENTICATED, "`X-Hub-Signature-256` is not this body's by the app's secret.")
    try:
        reports = read_reports(read_json(raw, Limits(bytes=parts.body_limit)))
    except AuthorError as error:
        raise Refused(Code.MALFORMED_BODY, str(error), problems=error.problems) from None
    taken = await parts.deliveries.report(reports)
    request.app.state.reports.taken(taken.changed, taken.unchanged, taken.unknown)
    return answer(ReportsTaken(changed=taken.changed, unchanged=taken.unchanged, unknown=taken.unknown))


def _configured(value: str | None, name: str) -> str:
    if value is None:
        raise Refused(Code.NOT_CONFIGURED, f"WhatsApp's reports are not expected here: set `{name}`.")
    return value
