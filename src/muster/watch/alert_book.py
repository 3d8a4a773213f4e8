"""Alerts as people see them, and what they do to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from muster.definitions.library import NotFound
from muster.model.access import Caller
from muster.model.stored import Page
from muster.model.watching import AlertState, Severity
from muster.watch.lifecycle import AlertAction, Illegal

# What is done to many is done at once, in one transaction.
MOST_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Alert:
    """Something about one item that somebody should look at. `count` is how often it was triggered;
    `incident_id` is None until it belongs to one."""

    id: int
    dedupe_key: str
    institute_id: str
    workflow_key: str
    workflow_version_id: int
    workflow_run_id: int | None
    node: str
    correlation_key: str
    group_hash: str
    severity: Severity
    reason: str
    state: AlertState
    count: int
    first_triggered_at: datetime
    last_triggered_at: datetime
    acked_by: str | None
    suppressed_until: datetime | None
    resolved_at: datetime | None
    incident_id: int | None


@dataclass(frozen=True, slots=True)
class WantedAlerts:
    """`workflow` is a workflow's id or key; `q` is part of a correlation key."""

    state: AlertState | None = None
    severity: Severity | None = None
    workflow: str | None = None
    q: str | None = None
    incident: int | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does. `until`: how long it is suppressed; None: until somebody says otherwise."""

    action: AlertAction
    actor: str
    reason: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of it for one alert: how it is now, or why nothing was done."""

    id: int
    alert: Alert | None
    refused: str | None = None


class AlertBook(Protocol):
    async def list(
        self, institute_id: str | None, wanted: WantedAlerts, page: Page
    ) -> tuple[Sequence[Alert], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        ...

    async def get(self, institute_id: str | None, alert_id: int) -> Alert | None: ...

    async def act(self, institute_id: str | None, alert_ids: Sequence[int], act: Act) -> Sequence[Acted]:
        """Do it to each that is there and allows it, with its audit row, in one transaction. In the order of
        the ids given; one that is not there has no alert."""
        ...


class Alerts:
    def __init__(self, book: AlertBook) -> None:
        self._book = book

    async def list(
        self, caller: Caller, wanted: WantedAlerts, page: Page
    ) -> tuple[Sequence[Alert], str | None]:
        return await self._book.list(caller.institute_id, wanted, page)

    async def get(self, alert_id: int, caller: Caller) -> Alert:
        """Raises `NotFound`."""
        found = await self._book.get(caller.institute_id, alert_id)
        if found is None:
            raise _none(alert_id)
        return found

    async def act(self, alert_id: int, act: Act, caller: Caller) -> Alert:
        """Raises `NotFound`, and `Illegal` where its state does not allow it."""
        [done] = await self._book.act(caller.institute_id, [alert_id], act)
        if done.alert is None:
            raise _none(alert_id)
        if done.refused is not None:
            raise Illegal(done.refused)
        return done.alert

    async def act_on(self, alert_ids: Sequence[int], act: Act, caller: Caller) -> Sequence[Acted]:
        """Each comes to its own end: one that is not there, or does not allow it, keeps no other from it."""
        return await self._book.act(caller.institute_id, list(dict.fromkeys(alert_ids)), act)

    async def act_on_found(
        self, wanted: WantedAlerts, act: Act, caller: Caller
    ) -> tuple[Sequence[Acted], bool]:
        """The same for those that are found now; True if there were more than are done at once."""
        found, following = await self._book.list(caller.institute_id, wanted, Page(MOST_AT_ONCE))
        done = await self._book.act(caller.institute_id, [alert.id for alert in found], act)
        return done, following is not None


def _none(alert_id: int) -> NotFound:
    return NotFound(f"There is no alert {alert_id}")
