"""Items: where a key is on its way, and how it came there."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from muster.api.alert_shapes import AlertRow, ItemWhole
from muster.api.answers import answer
from muster.api.describe import described
from muster.api.guard import Viewer
from muster.api.listing import Listed
from muster.api.parts import Given
from muster.api.problems import Code
from muster.api.strict import StrictRoute
from muster.api.watch_shapes import ItemEventRow, ItemExpectationRow, ItemLinks, ItemPage, ItemRow
from muster.model.access import Role
from muster.model.watching import Severity
from muster.watch.items import Item, ItemEvent, ItemExpectation, ItemRun, WantedItems

router = APIRouter(route_class=StrictRoute, tags=["items"])


@router.get(
    "/items",
    summary="Search items, newest first",
    **described(ItemPage, Code.INVALID_CURSOR, Code.INVALID_PARAMETER, Code.UNAVAILABLE, role=Role.VIEWER),
)
async def search_items(
    caller: Viewer,
    parts: Given,
    listed: Listed,
    q: Annotated[str | None, Query(max_length=255, description="How a correlation key begins.")] = None,
    status: Annotated[Severity | None, Query()] = None,
    workflow: Annotated[str | None, Query(max_length=255, description="A workflow's id or key.")] = None,
    node: Annotated[
        str | None, Query(max_length=255, description="What is to come there has not come, late or not.")
    ] = None,
    group: Annotated[str | None, Query(max_length=64, description="The hash of their group.")] = None,
) -> Response:
    wanted = WantedItems(q, status, workflow, node, group)
    found, following = await parts.watched.items.search(caller, wanted, listed)
    return answer(ItemPage(items=[ItemRow(**_run(run)) for run in found], next_cursor=following))


@router.get(
    "/items/{correlationKey:path}",
    summary="Read an item's timeline",
    **described(
        ItemWhole,
        Code.NOT_FOUND,
        Code.INVALID_PARAMETER,
        Code.UNAVAILABLE,
        role=Role.VIEWER,
        notes="Its newest run, with its events, what is still to come, and its alerts.",
    ),
)
async def get_item(
    correlation_key: Annotated[str, Path(alias="correlationKey")],
    caller: Viewer,
    parts: Given,
    version_id: Annotated[
        int | None, Query(alias="workflowVersionId", ge=1, le=2**63 - 1, description="Its newest run there.")
    ] = None,
) -> Response:
    item = await parts.watched.items.get(correlation_key, version_id, caller)
    return answer(_whole(item, parts.clock.now()))


def _whole(item: Item, now: datetime) -> ItemWhole:
    execution = item.run.execution_id
    return ItemWhole(
        **_run(item.run),
        events=[_event(event) for event in item.events],
        expectations=[_expectation(each, now) for each in item.expectations],
        alerts=[AlertRow.model_validate(alert) for alert in item.alerts],
        runs=[ItemRow(**_run(run)) for run in item.runs],
        links=ItemLinks(execution=None if execution is None else f"/api/workflow/executions/{execution}"),
    )


def _run(run: ItemRun) -> dict[str, Any]:
    found = asdict(run)
    del found["workflow_kind"]
    return {**found, "execution_id": run.execution_id}


def _event(event: ItemEvent) -> ItemEventRow:
    fields = asdict(event)
    late_by = fields.pop("lateness")
    return ItemEventRow(**fields, lateness_sec=None if late_by is None else late_by.total_seconds())


def _expectation(expectation: ItemExpectation, now: datetime) -> ItemExpectationRow:
    return ItemExpectationRow(
        id=expectation.id,
        from_node=expectation.from_node,
        to_node=expectation.to_node,
        due_at=expectation.due_at,
        countdown_sec=round((expectation.due_at - now).total_seconds(), 3),
        severity=expectation.severity,
        status=expectation.status,
        optional=expectation.optional,
        fired_at=expectation.fired_at,
    )
