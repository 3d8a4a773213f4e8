"""Alerts that another program's stage tells of: in its own words, and about what nobody here knows."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from muster.engine.bus import Batch, Message, Refused
from muster.model.access import Caller, How, Role
from muster.model.stored import Page
from muster.model.watching import AlertState
from muster.store.alerts import AlertRepository
from muster.store.database import Database
from muster.store.incidents import IncidentRepository
from muster.store.watch_stages import AlertStage
from muster.watch.alert_book import Act, Alerts, WantedAlerts
from muster.watch.lifecycle import AlertAction
from muster.watch.notifying import Incident, Notifying, WantedIncidents
from watch_house import WatchHouse

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)
TOLD: dict[str, Any] = {
    "dedupeKey": "their-own-7",
    "workflowVersionId": 4711,
    "node": "settle",
    "correlationKey": "EQ-555",
    "severity": "critical",
    "reason": "STUCK_IN_CUSTODY",
    "triggeredAt": "2024-06-10T12:07:00Z",
}


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


async def tell(house: WatchHouse, **changes: Any) -> None:
    value = orjson.dumps({**TOLD, **changes})
    message = Message("alerts.triggered", 0, 0, None, value, (), datetime.now(UTC))
    await AlertStage(house.database)(Batch([message]))


async def test_their_own_words_are_taken(house: WatchHouse) -> None:
    await tell(house)
    await tell(house, severity="Amber")
    [row] = await house.alerts()
    assert (row["dedupe_key"], row["reason"], row["count"]) == ("their-own-7", "STUCK_IN_CUSTODY", 2)
    assert row["severity"] == "red", "what is not known is not overlooked"
    await tell(house, dedupeKey="their-own-8", severity="AMBER")
    assert [row["severity"] for row in await house.alerts()] == ["red", "amber"]


async def test_what_does_not_fit_is_refused(house: WatchHouse) -> None:
    for wrong in ({"reason": 7}, {"severity": ""}, {"reason": "x" * 65}, {"dedupeKey": "x" * 601}):
        with pytest.raises(Refused):
            await tell(house, **wrong)


async def test_alerts_of_a_version_that_is_not_known_are_seen_told_and_dealt_with(house: WatchHouse) -> None:
    await tell(house)
    alerts = Alerts(AlertRepository(house.database, house.due.give_up))
    [found], _ = await alerts.list(OPERATOR, WantedAlerts(), Page(10))
    assert (found.workflow_version_id, found.workflow_key, found.node) == (4711, "", "settle")

    heard: list[Incident] = []
    book = IncidentRepository(house.database)

    async def hear(incident: Incident) -> None:
        heard.append(incident)

    await Notifying(book, AlertRepository(house.database), hear, timedelta(0), 1.0).look()
    [incident], _ = await book.list(None, WantedIncidents(), Page(10))
    assert [each.id for each in heard] == [incident.id]
    assert (incident.workflow_version_id, incident.reason) == (4711, "STUCK_IN_CUSTODY")
    done = await alerts.act(found.id, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    assert done.state is AlertState.RESOLVED
