"""Incidents on a database: one cause is one incident, and is told once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from math import sqrt
from typing import Any

import pytest

from clocks import FakeClock
from muster.model.access import Caller, How, Role
from muster.model.stored import Page
from muster.store.alerts import AlertRepository
from muster.store.database import Database
from muster.store.incidents import IncidentRepository
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.tables import incident
from muster.watch.alert_book import Act, Alerts, WantedAlerts
from muster.watch.lifecycle import AlertAction
from muster.watch.notifying import Incident, Notifying, WantedIncidents
from watch_house import NOON, WatchHouse, event

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)
REGIONS = ("NY", "LN", "HK", "SG", "FF")


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


class Desk:
    """Notifies without waiting, and remembers who was told."""

    def __init__(self, house: WatchHouse, wait: timedelta = timedelta(0)) -> None:
        self.house, self.told = house, list[Incident]()
        database = house.database
        self.alerts = Alerts(AlertRepository(database, house.due.give_up))
        self._notifying = Notifying(
            IncidentRepository(database), AlertRepository(database), self._tell, wait, 1.0
        )

    async def _tell(self, told: Incident) -> None:
        self.told.append(told)

    async def look(self) -> None:
        while await self._notifying.look() == 0.0:
            pass

    async def incidents(self) -> list[dict[str, Any]]:
        return await self.house.rows(incident)


async def miss(house: WatchHouse, *trades: tuple[str, str]) -> None:
    """Trades of a region that are never verified."""
    events = [event("TRADE_INGEST", key, group={"book": "EQD", "region": region}) for key, region in trades]
    for start in range(0, len(events), 500):
        await house.take(*events[start : start + 500])
    while await house.due.fire(1000):
        pass


async def test_a_silent_source_is_one_incident_and_one_notification(house: WatchHouse) -> None:
    # MariaDB takes a minute to write so many.
    silent = 300 if house.database.dialect_name == "mariadb" else 5_000
    await house.watch()
    await miss(house, *((f"TR{n}", REGIONS[n % len(REGIONS)]) for n in range(silent)))
    desk = Desk(house)
    await desk.look()
    await desk.look()
    [one] = await desk.incidents()
    assert (one["count"], one["group_dim_hash"], one["state"], one["severity"]) == (
        silent,
        None,
        "open",
        "amber",
    )
    assert [told.id for told in desk.told] == [one["id"]]
    alerts = await house.alerts()
    assert len(alerts) == silent
    assert {row["incident_id"] for row in alerts} == {one["id"]}
    # More of the same is no news.
    await miss(house, *((f"MORE{n}", REGIONS[n % len(REGIONS)]) for n in range(20)))
    await desk.look()
    assert len(desk.told) == 1
    assert (await desk.incidents())[0]["count"] == silent + 20


async def test_a_source_that_falls_silent_bit_by_bit_is_one_incident_and_one_notification() -> None:
    """5,000 items of five groups that wait at two nodes, and come due over five minutes: few at first, then
    more and more. Time passes where the clock is moved."""
    clock = FakeClock(NOON)
    simulated = inline_database(clock=clock)
    await migrate(simulated)
    house, silent, minutes = WatchHouse(simulated), 5_000, 5
    await house.watch()
    desk = Desk(house, wait=timedelta(seconds=3))

    begins = [NOON + timedelta(minutes=minutes) * sqrt(n / silent) for n in range(silent)]
    groups = [{"book": "EQD", "region": REGIONS[n % len(REGIONS)]} for n in range(silent)]
    ingested = [event("TRADE_INGEST", f"TR{n}", begins[n], group=groups[n]) for n in range(silent)]
    verified = [event("SYS2_VERIFIED", f"TR{n}", begins[n]) for n in range(silent) for _ in range(n % 2 * 2)]
    for events in (ingested, verified):
        for start in range(0, len(events), 500):
            await house.take(*events[start : start + 500])

    clock.forward(minutes=minutes)
    for _ in range(minutes * 60 + 60):
        clock.forward(seconds=1)
        while await house.due.fire(1000):
            pass
        await desk.look()
    [one] = await desk.incidents()
    assert [told.id for told in desk.told] == [one["id"]]
    assert (one["count"], one["group_dim_hash"]) == (silent, None)
    assert {row["node_key"] for row in await house.alerts()} == {"sys2-verify", "sys3-ack"}
    await house.close()
    await simulated.close()


async def test_a_further_incident_of_a_workflow_is_told_a_while_later(house: WatchHouse) -> None:
    await house.watch()
    await miss(house, ("TR1", "NY"), ("TR2", "LN"))
    book = IncidentRepository(house.database)
    await book.place(10)
    hour, none = timedelta(hours=1), timedelta(0)
    [first] = await book.untold(none, hour, 10)
    await book.told([first.id])
    assert await book.untold(none, hour, 10) == []
    [second] = await book.untold(none, none, 10)
    assert second.id != first.id


async def test_of_two_instances_one_opens_the_incident(house: WatchHouse) -> None:
    await house.watch()
    await miss(house, *((f"TR{n}", REGIONS[n % 2]) for n in range(20)))
    desks = [Desk(house), Desk(house)]
    await asyncio.gather(*(desk.look() for desk in desks))
    assert [(row["count"], row["state"]) for row in await desks[0].incidents()] == [(20, "open")]


async def test_an_incident_waits_for_more_before_it_is_told(house: WatchHouse) -> None:
    await house.watch()
    await miss(house, ("TR1", "NY"))
    patient = Desk(house, wait=timedelta(hours=1))
    await patient.look()
    await miss(house, ("TR2", "LN"))
    await patient.look()
    assert [row["count"] for row in await patient.incidents()] == [1, 1]
    assert patient.told == []
    # So many of several groups have one cause: what nobody was told of becomes one.
    await miss(house, *((f"MORE{n}", "HK") for n in range(3)))
    await patient.look()
    [whole] = await patient.incidents()
    assert (whole["count"], whole["group_dim_hash"]) == (5, None)
    assert {row["incident_id"] for row in await house.alerts()} == {whole["id"]}
    hasty = Desk(house)
    await hasty.look()
    assert [told.count for told in hasty.told] == [5]


async def test_an_incident_ends_with_its_alerts_and_what_comes_again_is_another(house: WatchHouse) -> None:
    await house.watch()
    await miss(house, ("TR1", "NY"), ("TR2", "NY"))
    desk = Desk(house)
    await desk.look()
    found, _ = await desk.alerts.list(OPERATOR, WantedAlerts(), Page(10))
    await desk.alerts.act(found[0].id, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    await desk.look()
    assert [row["state"] for row in await desk.incidents()] == ["open"]
    await desk.alerts.act(found[1].id, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    await desk.look()
    assert [row["state"] for row in await desk.incidents()] == ["resolved"]
    await desk.alerts.act(found[1].id, Act(AlertAction.REOPEN, "ann"), OPERATOR)
    await desk.look()
    assert [row["state"] for row in await desk.incidents()] == ["resolved", "open"]
    assert len(desk.told) == 2
    listed, _ = await IncidentRepository(house.database).list(None, WantedIncidents(), Page(10))
    assert [(each.workflow_key, each.group, each.count) for each in listed] == [
        ("trade-lifecycle", {"book": "EQD", "region": "NY"}, 1),
        ("trade-lifecycle", {"book": "EQD", "region": "NY"}, 2),
    ]


async def test_nobody_is_told_of_what_somebody_deals_with_already(house: WatchHouse) -> None:
    await house.watch()
    await miss(house, ("TR1", "NY"))
    [row] = await house.alerts()
    desk = Desk(house)
    await desk.alerts.act(row["id"], Act(AlertAction.ACK, "ann"), OPERATOR)
    await desk.look()
    assert desk.told == []
    assert [row["state"] for row in await desk.incidents()] == ["open"]
