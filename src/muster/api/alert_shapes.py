"""What callers send and get about alerts, incidents and the items that they are about."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.execution_shapes import REASON
from muster.api.moments import Moment
from muster.api.shapes import Request, Shape
from muster.api.watch_shapes import ItemEventRow, ItemExpectationRow, ItemLinks, ItemRow
from muster.model.watching import AlertState, Severity
from muster.watch.alert_book import MOST_AT_ONCE
from muster.watch.lifecycle import AlertAction
from muster.watch.notifying import IncidentState


class AlertRow(Shape):
    id: int
    dedupe_key: str
    workflow_key: str
    workflow_version_id: int
    workflow_run_id: int | None
    node: str
    correlation_key: str
    group_hash: str
    severity: Severity
    reason: str
    state: AlertState
    count: int = Field(description="How often it was triggered.")
    first_triggered_at: datetime
    last_triggered_at: datetime
    acked_by: str | None
    suppressed_until: datetime | None
    resolved_at: datetime | None
    incident_id: int | None


class AlertPage(Shape):
    items: list[AlertRow]
    next_cursor: str | None


class Suppress(Request):
    reason: str = REASON
    until: Moment | None = Field(default=None, description="By default until somebody says otherwise.")


class AlertFilter(Request):
    """The same as the list's parameters."""

    state: AlertState | None = Field(default=None, strict=False)
    severity: Severity | None = Field(default=None, strict=False)
    workflow: str | None = Field(default=None, description="A workflow's id or key.")
    q: str | None = Field(default=None, max_length=200, description="Part of a correlation key.")
    incident: int | None = Field(default=None, ge=1, le=2**63 - 1)


class BulkOnAlerts(Request):
    """What to do, to which: those that `filter` finds now, or those that `ids` names."""

    action: AlertAction = Field(strict=False)
    filter: AlertFilter | None = None
    ids: list[int] | None = Field(default=None, min_length=1, max_length=MOST_AT_ONCE)
    reason: str = REASON
    until: Moment | None = Field(default=None, description="For `suppress`.")


class AlertDone(Shape):
    id: int
    state: AlertState | None = Field(description="How it is now; null: there is none.")
    error: str | None = Field(description="Why nothing was done to it.")


class BulkOnAlertsDone(Shape):
    done: int
    refused: int
    more: bool = Field(description="There were more than are done at once: ask again.")
    results: list[AlertDone]


class IncidentRow(Shape):
    """One cause and its alerts."""

    id: int
    workflow_id: str
    workflow_key: str
    workflow_version_id: int
    node: str
    group_hash: str | None = Field(description="Null: of all groups of its node.")
    group: dict[str, JsonValue] | None
    reason: str
    severity: Severity
    state: IncidentState
    count: int = Field(description="How many alerts it has.")
    first_triggered_at: datetime
    last_triggered_at: datetime
    notified_at: datetime | None
    resolved_at: datetime | None


class IncidentPage(Shape):
    items: list[IncidentRow]
    next_cursor: str | None


class ItemWhole(ItemRow):
    """An item with its timeline."""

    events: list[ItemEventRow]
    expectations: list[ItemExpectationRow]
    alerts: list[AlertRow]
    runs: list[ItemRow] = Field(description="All of its key, the newest first.")
    links: ItemLinks


BODIES = (Suppress, BulkOnAlerts)
