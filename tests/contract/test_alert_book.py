"""Alerts on a database: acted on one by one and many at once, each with its audit row."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from muster.model.access import Caller, How, Role
from muster.model.stored import Page
from muster.model.watching import AlertReason, AlertState, Severity, Trigger
from muster.store.alerts import AlertRepository
from muster.store.database import Database
from muster.store.tables import alert, audit_log
from muster.store.watch_alerts import write_alerts
from muster.watch.alert_book import Act, Alerts, WantedAlerts
from muster.watch.alerts import Settled
from muster.watch.lifecycle import AlertAction, Illegal
from watch_house import NOON, WatchHouse, event

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)
STRANGER = Caller("bob", frozenset({Role.OPERATOR}), "elsewhere", How.TOKEN)

# `b` is to come soon after `a`, and within ten years after `s`.
TWICE: dict[str, Any] = {
    "name": "Twice",
    "key": "twice",
    "graph": {
        "nodes": [
            {"key": "a", "eventType": "A", "start": True},
            {"key": "s", "eventType": "S", "start": True},
            {"key": "b", "eventType": "B"},
            {"key": "end", "eventType": "END", "terminal": True},
        ],
        "edges": [
            {"from": "b", "to": "end", "maxLatencySec": 60, "optional": True},
            {"from": "a", "to": "b", "maxLatencySec": 60},
            {"from": "s", "to": "b", "maxLatencySec": 10 * 365 * 86_400},
        ],
    },
}


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


@pytest.fixture
def alerts(house: WatchHouse) -> Alerts:
    return Alerts(AlertRepository(house.database, house.due.give_up))


async def missed(house: WatchHouse, *keys: str) -> list[int]:
    """A miss of each key; the alerts' ids."""
    await house.watch()
    for key in keys:
        await house.take(event("TRADE_INGEST", key))
    assert await house.due.fire(1000) == 2 * len(keys)
    return [row["id"] for row in await house.alerts()]


async def audit(database: Database) -> list[Any]:
    chosen = select(audit_log).where(audit_log.c.entity_type == "alert").order_by(audit_log.c.id)
    return [*await database.read(lambda connection: connection.execute(chosen).all())]


async def test_an_alert_is_acknowledged_suppressed_and_reopened_with_an_audit_row_each(
    house: WatchHouse, alerts: Alerts
) -> None:
    [number] = await missed(house, "TR1")
    until = datetime(2030, 1, 1, tzinfo=UTC)
    acked = await alerts.act(number, Act(AlertAction.ACK, "ann", "on it"), OPERATOR)
    assert (acked.state, acked.acked_by, acked.count) == (AlertState.ACK, "ann", 2)
    with pytest.raises(Illegal, match="The alert is ack"):
        await alerts.act(number, Act(AlertAction.ACK, "ann"), OPERATOR)
    suppressed = await alerts.act(number, Act(AlertAction.SUPPRESS, "ann", "", until), OPERATOR)
    assert (suppressed.state, suppressed.suppressed_until) == (AlertState.SUPPRESSED, until)
    opened = await alerts.act(number, Act(AlertAction.REOPEN, "ann"), OPERATOR)
    assert (opened.state, opened.acked_by, opened.suppressed_until) == (AlertState.OPEN, None, None)
    told = [(row.action, row.actor, row.details) for row in await audit(house.database)]
    assert told == [
        ("ack", "ann", {"from": "open", "to": "ack", "reason": "on it"}),
        (
            "suppress",
            "ann",
            {"from": "ack", "to": "suppressed", "reason": "", "until": "2030-01-01T00:00:00.000000Z"},
        ),
        ("reopen", "ann", {"from": "suppressed", "to": "open", "reason": ""}),
    ]


async def test_whoever_resolves_a_miss_counts_on_it_no_longer(house: WatchHouse, alerts: Alerts) -> None:
    first, second = await missed(house, "TR1", "TR2")
    assert (await house.totals())["sys2-verify"] == (4, 0, 4, 0)
    done = await alerts.act(first, Act(AlertAction.RESOLVE, "ann", "lost"), OPERATOR)
    assert done.state is AlertState.RESOLVED
    assert (await house.totals())["sys2-verify"] == (2, 0, 4, 0)
    with pytest.raises(Illegal):
        await alerts.act(first, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    assert (await house.totals())["sys2-verify"] == (2, 0, 4, 0)
    assert (await alerts.get(second, OPERATOR)).state is AlertState.OPEN


async def reasons(house: WatchHouse) -> list[tuple[str, str, int]]:
    return [(row["reason"], row["state"], row["count"]) for row in await house.alerts()]


async def test_a_miss_that_comes_after_all_takes_nothing_else_along(house: WatchHouse) -> None:
    await house.watch(TWICE)
    await house.take(event("B"), event("B"), event("A"), event("A"), event("A"))
    assert await reasons(house) == [("ORDER_VIOLATION", "open", 2)]
    assert await house.due.fire(100) == 1
    assert await reasons(house) == [("ORDER_VIOLATION", "open", 3)]
    await house.take(event("B", at=NOON + timedelta(hours=1)))
    assert {row["status"] for row in await house.expectations()} == {"cleared"}
    assert await reasons(house) == [("ORDER_VIOLATION", "open", 3)]


async def late_beside_a_miss(house: WatchHouse) -> int:
    """One is missed, and one comes late; the alert's id."""
    await house.watch(TWICE)
    await house.take(event("A"), event("S"))
    assert await house.due.fire(100) == 1
    assert await reasons(house) == [("EXPECTED_MISSED", "open", 1)]
    await house.take(event("B", at=NOON + timedelta(days=4_000)))
    assert await reasons(house) == [("SLA_MISSED", "open", 2)]
    [row] = await house.alerts()
    number: int = row["id"]
    return number


async def test_what_was_late_stays_so_when_what_was_missed_comes(house: WatchHouse) -> None:
    await late_beside_a_miss(house)
    await house.take(event("B", at=NOON + timedelta(days=4_001)))
    assert {row["status"] for row in await house.expectations()} == {"cleared"}
    assert await reasons(house) == [("SLA_MISSED", "open", 2)]


async def test_whoever_resolves_what_was_late_counts_no_longer_on_what_was_missed(
    house: WatchHouse, alerts: Alerts
) -> None:
    number = await late_beside_a_miss(house)
    assert (await house.totals())["b"] == (1, 1, 2, 0)
    await alerts.act(number, Act(AlertAction.RESOLVE, "ann", "seen"), OPERATOR)
    assert (await house.totals())["b"] == (0, 1, 2, 0)


async def test_an_alert_that_was_resolved_is_about_what_opens_it_again(
    house: WatchHouse, alerts: Alerts
) -> None:
    await house.watch(TWICE)
    await house.take(event("B"))
    [row] = await house.alerts()
    await alerts.act(row["id"], Act(AlertAction.RESOLVE, "ann", "seen"), OPERATOR)
    await house.take(event("A"), event("A"))
    assert await house.due.fire(100) == 1
    assert await reasons(house) == [("EXPECTED_MISSED", "open", 2)]
    await house.take(event("B", at=NOON + timedelta(hours=1)))
    assert await reasons(house) == [("EXPECTED_MISSED", "resolved", 2)]


async def test_many_are_acted_on_at_once_and_what_does_not_allow_it_is_named(
    house: WatchHouse, alerts: Alerts
) -> None:
    ids = await missed(house, "TR1", "TR2", "TR3")
    await alerts.act(ids[0], Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    done = await alerts.act_on([*ids, 999_999], Act(AlertAction.ACK, "ann"), OPERATOR)
    assert [(each.alert and each.alert.state, each.refused) for each in done] == [
        (AlertState.RESOLVED, "The alert is resolved: it cannot be acknowledged"),
        (AlertState.ACK, None),
        (AlertState.ACK, None),
        (None, None),
    ]
    found, more = await alerts.act_on_found(
        WantedAlerts(state=AlertState.ACK), Act(AlertAction.RESOLVE, "ann"), OPERATOR
    )
    assert ([each.id for each in found], more) == ([ids[2], ids[1]], False)
    assert (await house.totals())["sys2-verify"][0] == 0
    assert len(await audit(house.database)) == 5


async def test_alerts_are_found_by_what_is_asked_for_and_by_their_own_tenant(
    house: WatchHouse, alerts: Alerts
) -> None:
    ids = await missed(house, "TR1", "TR2")
    await house.take(event("SYS3_ACK", "XX3", NOON + timedelta(minutes=1)))
    ids.append(max(row["id"] for row in await house.alerts()))

    async def found(**wanted: Any) -> list[int]:
        return [each.id for each in (await alerts.list(OPERATOR, WantedAlerts(**wanted), Page(10)))[0]]

    assert await found() == [*reversed(ids)]
    assert await found(severity=Severity.RED) == [ids[2]]
    assert await found(severity=Severity.AMBER, q="R1") == [ids[0]]
    assert await found(workflow="trade-lifecycle", state=AlertState.OPEN, q="TR") == [ids[1], ids[0]]
    assert await found(workflow="other") == []
    assert (await alerts.list(STRANGER, WantedAlerts(), Page(10)))[0] == []
    [refused] = await alerts.act_on([ids[0]], Act(AlertAction.ACK, "bob"), STRANGER)
    assert refused.alert is None
    first, cursor = await alerts.list(OPERATOR, WantedAlerts(), Page(2))
    rest, end = await alerts.list(OPERATOR, WantedAlerts(), Page(2, cursor))
    assert ([each.id for each in [*first, *rest]], end) == ([*reversed(ids)], None)


async def test_what_was_suppressed_until_a_time_is_open_again_after_it(
    house: WatchHouse, alerts: Alerts
) -> None:
    ids = await missed(house, "TR1", "TR2", "TR3")
    book = AlertRepository(house.database)
    later = datetime.now(UTC) + timedelta(days=1)
    await alerts.act(ids[0], Act(AlertAction.SUPPRESS, "ann", "", later), OPERATOR)
    await alerts.act(ids[1], Act(AlertAction.SUPPRESS, "ann", "", later), OPERATOR)
    await alerts.act(ids[2], Act(AlertAction.SUPPRESS, "ann"), OPERATOR)
    assert await book.end_suppressions() == 0
    passed = update(alert).where(alert.c.id == ids[0]).values(suppressed_until=NOON)
    await house.database.write(lambda connection: connection.execute(passed).rowcount)
    assert await book.end_suppressions() == 1
    states = [row["state"] for row in await house.alerts()]
    assert states == ["open", "suppressed", "suppressed"]
    last = (await audit(house.database))[-1]
    assert (last.actor, last.action, last.details["from"]) == ("muster", "reopen", "suppressed")


async def test_an_alert_that_opens_again_is_about_the_run_that_opened_it(
    house: WatchHouse, alerts: Alerts
) -> None:
    await house.watch(TWO_STEPS)
    for day in range(2):
        await house.take(event("A", "k", NOON + timedelta(days=day)))
        await house.due.fire(10)
        if not day:
            await house.take(event("B", "k", NOON + timedelta(hours=1)))
    [*_, last] = await house.runs()
    [alert] = await house.alerts()
    assert (alert["state"], alert["workflow_run_id"]) == ("open", last["id"])
    await alerts.act(alert["id"], Act(AlertAction.RESOLVE, "ann", "no more"), OPERATOR)
    assert [each["abandoned_at"] is not None for each in await house.expectations()][-1]


async def test_what_an_alert_does_by_itself_has_an_audit_row_each_with_its_time(
    house: WatchHouse, alerts: Alerts
) -> None:
    await house.watch(TWO_STEPS)
    await house.take(event("A", "k1"), event("A", "k2"))
    await house.due.fire(10)
    first, second = await house.alerts()
    await alerts.act(first["id"], Act(AlertAction.ACK, "ann"), OPERATOR)
    later = datetime.now(UTC) + timedelta(days=1)
    await alerts.act(second["id"], Act(AlertAction.SUPPRESS, "ann", "", later), OPERATOR)
    came = [NOON + timedelta(hours=1), NOON + timedelta(hours=2)]
    await house.take(event("B", "k1", came[0]), event("B", "k2", came[1]))
    resolved = [(row["state"], row["suppressed_until"]) for row in await house.alerts()]
    assert resolved == [("resolved", None), ("resolved", None)]
    told = {row.entity_id: row for row in (await audit(house.database))[2:]}
    assert [told[str(each["id"])].created_at for each in (first, second)] == came
    await house.take(event("A", "k1", NOON + timedelta(days=1)))
    await house.due.fire(10)
    again = (await house.alerts())[0]
    assert (again["state"], again["acked_by"]) == ("open", None)
    last = (await audit(house.database))[-1]
    assert (last.entity_id, last.action, last.actor) == (str(first["id"]), "reopen", "muster")
    assert last.details == {"from": "resolved", "to": "open", "reason": "triggered once more"}
    assert last.created_at == again["last_triggered_at"]


async def test_an_alert_that_is_new_and_over_at_once_has_its_audit_row(house: WatchHouse) -> None:
    await house.watch(TWO_STEPS)
    trigger = Trigger(1, None, "b", "k", "", "", Severity.AMBER, AlertReason.EXPECTED_MISSED, NOON)
    steps = {trigger.dedupe_key: [trigger, Settled(trigger.dedupe_key, NOON + timedelta(minutes=1))]}
    await house.database.write(lambda connection: write_alerts(connection, steps))
    [row] = await audit(house.database)
    assert (row.action, row.created_at) == ("resolve", NOON + timedelta(minutes=1))


TWO_STEPS = {
    "name": "Two steps",
    "key": "two-steps",
    "graph": {
        "nodes": [
            {"key": "a", "eventType": "A", "start": True},
            {"key": "b", "eventType": "B", "terminal": True},
        ],
        "edges": [{"from": "a", "to": "b", "maxLatencySec": 60}],
    },
}
