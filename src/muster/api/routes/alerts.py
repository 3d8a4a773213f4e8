"""Alerts and incidents: looked at, and dealt with."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response

from muster.api.alert_shapes import (
    AlertDone,
    AlertPage,
    AlertRow,
    BulkOnAlerts,
    BulkOnAlertsDone,
    IncidentPage,
    IncidentRow,
    Suppress,
)
from muster.api.answers import answer
from muster.api.describe import described, json_body
from muster.api.execution_shapes import Reason
from muster.api.guard import Operator, Viewer
from muster.api.listing import Listed
from muster.api.parts import Given, Parts
from muster.api.problems import Code, wrong
from muster.api.reading import read_body, read_optional_body
from muster.api.strict import StrictRoute
from muster.model.access import Caller, Role
from muster.model.watching import AlertState, Severity
from muster.watch.alert_book import Act, Acted, WantedAlerts
from muster.watch.lifecycle import AlertAction
from muster.watch.notifying import IncidentState, WantedIncidents

router = APIRouter(route_class=StrictRoute, tags=["alerts"])
Route = TypeVar("Route", bound=Callable[..., object])
Id = Annotated[int, Path(ge=1, le=2**63 - 1, description="An alert's number.")]
Workflow = Annotated[str | None, Query(max_length=255, description="A workflow's id or key.")]


@router.get(
    "/alerts",
    summary="List alerts, newest first",
    **described(AlertPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def list_alerts(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    state: Annotated[AlertState | None, Query()] = None,
    severity: Annotated[Severity | None, Query()] = None,
    workflow: Workflow = None,
    q: Annotated[str | None, Query(max_length=200, description="Part of a correlation key.")] = None,
    incident: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="An incident's number.")] = None,
) -> Response:
    wanted = WantedAlerts(state, severity, workflow, q, incident)
    found, following = await parts.watched.alerts.list(caller, wanted, listed)
    return answer(AlertPage(items=[AlertRow.model_validate(each) for each in found], next_cursor=following))


@router.get(
    "/api/incidents",
    summary="List incidents, newest first",
    **described(
        IncidentPage,
        Code.INVALID_CURSOR,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="One cause and all its alerts: `/alerts?incident=` lists those.",
    ),
)
async def list_incidents(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    state: Annotated[IncidentState | None, Query()] = None,
    workflow: Workflow = None,
) -> Response:
    wanted = WantedIncidents(state, workflow)
    found, following = await parts.watched.incidents.list(caller.institute_id, wanted, listed)
    items = [IncidentRow.model_validate(each) for each in found]
    return answer(IncidentPage(items=items, next_cursor=following))


@router.post(
    "/alerts/bulk",
    summary="Act on many alerts",
    **described(
        BulkOnAlertsDone,
        Code.INVALID_BODY,
        Code.UNSUPPORTED_MEDIA_TYPE,
        Code.UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        role=Role.OPERATOR,
        body=json_body(BulkOnAlerts, {"action": "ack", "filter": {"workflow": "trades"}, "reason": "known"}),
        notes="In one transaction; what does not allow it is named, and keeps no other from it.",
    ),
)
async def act_on_alerts(request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_body(request, BulkOnAlerts, parts.body_limit)
    if (body.filter is None) == (body.ids is None):
        raise wrong("/filter", "Either `filter` or `ids` says which alerts are meant.")
    if body.until is not None and body.action is not AlertAction.SUPPRESS:
        raise wrong("/until", "`until` goes with `suppress` alone.")
    _check_future(body.until, parts)
    act = Act(body.action, caller.name, body.reason, body.until)
    more = False
    if body.ids is not None:
        done = await parts.watched.alerts.act_on(body.ids, act, caller)
    else:
        wanted = WantedAlerts() if body.filter is None else WantedAlerts(**body.filter.model_dump())
        done, more = await parts.watched.alerts.act_on_found(wanted, act, caller)
    return answer(_done(done, more))


@router.get(
    "/alerts/{id}",
    summary="Read an alert",
    **described(AlertRow, Code.NOT_FOUND, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def get_alert(id: Id, caller: Viewer, parts: Given) -> Response:
    return answer(AlertRow.model_validate(await parts.watched.alerts.get(id, caller)))


def _action(name: str, summary: str, body: type[Reason] | type[Suppress]) -> Callable[[Route], Route]:
    return router.post(
        f"/alerts/{{id}}/{name}",
        summary=summary,
        **described(
            AlertRow,
            Code.NOT_FOUND,
            Code.INVALID_PARAMETER,
            Code.INVALID_BODY,
            Code.UNSUPPORTED_MEDIA_TYPE,
            Code.CONFLICT,
            Code.UNAVAILABLE,
            Code.OUTCOME_UNKNOWN,
            role=Role.OPERATOR,
            body=json_body(body, {"reason": "the source is being restarted"}),
            body_optional=True,
        ),
    )


@_action("ack", "Say that somebody is at it", Reason)
async def ack_alert(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    return await _acted(id, AlertAction.ACK, request, caller, parts)


def _check_future(until: datetime | None, parts: Parts) -> None:
    if until is not None and until <= parts.clock.now():
        raise wrong("/until", "`until` is past already.")


@_action("suppress", "Hear no more of it, for a time or for good", Suppress)
async def suppress_alert(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    body = await read_optional_body(request, Suppress, parts.body_limit)
    _check_future(body.until, parts)
    act = Act(AlertAction.SUPPRESS, caller.name, body.reason, body.until)
    return answer(AlertRow.model_validate(await parts.watched.alerts.act(id, act, caller)))


@_action("resolve", "Say that it is over", Reason)
async def resolve_alert(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    return await _acted(id, AlertAction.RESOLVE, request, caller, parts)


@_action("reopen", "Say that it is not over", Reason)
async def reopen_alert(id: Id, request: Request, caller: Operator, parts: Given) -> Response:
    return await _acted(id, AlertAction.REOPEN, request, caller, parts)


async def _acted(
    alert_id: int, action: AlertAction, request: Request, caller: Caller, parts: Parts
) -> Response:
    body = await read_optional_body(request, Reason, parts.body_limit)
    act = Act(action, caller.name, body.reason)
    return answer(AlertRow.model_validate(await parts.watched.alerts.act(alert_id, act, caller)))


def _done(done: Sequence[Acted], more: bool) -> BulkOnAlertsDone:
    results = [
        AlertDone(
            id=each.id,
            state=None if each.alert is None else each.alert.state,
            error=each.refused or (f"There is no alert {each.id}" if each.alert is None else None),
        )
        for each in done
    ]
    refused = sum(each.error is not None for each in results)
    return BulkOnAlertsDone(done=len(results) - refused, refused=refused, more=more, results=results)
