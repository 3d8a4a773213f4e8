"""A stage that is told of alerts only resolves them when what was missed has come, as who applies the rules
would."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import select, update

from muster.engine.bus import Batch, Message
from muster.model.watching import AlertReason, Severity, Trigger
from muster.store.database import Database
from muster.store.tables import alert, audit_log, expectation, workflow_run
from muster.store.watch_settling import SettledAlerts
from muster.store.watch_stages import AlertStage
from muster.watch.messages import alert_triggered
from muster.watch.stages import Stage
from watch_house import WatchHouse, event

RULES = (Stage.INGEST, Stage.RULE, Stage.AGGREGATE)


class Apart:
    """The rules in one place, and alerts in another: told by messages, which come when they come."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.rules = WatchHouse(database, "rules", RULES)
        self._stage, self.settled = AlertStage(database), SettledAlerts(database)
        self._told = 0

    async def take(self, *types: str, key: str = "TR1") -> None:
        await self.rules.take(*(event(each, key, datetime.now(UTC)) for each in types))

    async def long_ago(self, key: str = "TR1") -> None:
        await self.rules.take(event("TRADE_INGEST", key))

    async def fire(self) -> None:
        """Let all fire that is due, and tell of it."""
        before = {each["id"] for each in await self.rules.expectations() if each["fired_at"]}
        while await self.rules.due.fire(100):
            pass
        runs = {each["id"]: each for each in await self.rules.runs()}
        for each in await self.rules.expectations():
            if each["fired_at"] and each["id"] not in before:
                await self._tell(runs[each["workflow_run_id"]], each)

    async def _tell(self, run: dict[str, Any], missed: dict[str, Any]) -> None:
        trigger = Trigger(
            run["workflow_version_id"],
            run["id"],
            missed["to_node_key"],
            run["correlation_key"],
            "",
            "",
            Severity(missed["severity"]),
            AlertReason.EXPECTED_MISSED,
            missed["fired_at"],
        )
        self._told += 1
        value = orjson.dumps(alert_triggered(trigger))
        await self._stage(
            Batch([Message("alerts.triggered", 0, self._told, None, value, (), datetime.now(UTC))])
        )

    async def look(self, most: int = 100) -> None:
        while await self.settled.look(most):
            pass

    async def states(self) -> dict[str, str]:
        return {each["correlation_key"]: each["state"] for each in await self.rules.alerts()}


@pytest.fixture
async def apart(database: Database) -> AsyncIterator[Apart]:
    made = Apart(database)
    await made.rules.watch()
    yield made
    await made.rules.close()


async def test_an_alert_resolves_when_all_that_was_missed_has_come(apart: Apart) -> None:
    await apart.long_ago()
    await apart.fire()
    await apart.look()
    assert await apart.states() == {"TR1": "open"}
    await apart.take("SYS2_VERIFIED")
    await apart.look()
    assert await apart.states() == {"TR1": "open"}  # two were expected
    await apart.take("SYS2_VERIFIED")
    await apart.look()
    assert await apart.states() == {"TR1": "resolved"}
    chosen = select(audit_log.c.actor, audit_log.c.action)
    rows = await apart.database.read(lambda connection: connection.execute(chosen).all())
    assert [tuple(row) for row in rows] == [("muster", "resolve")]
    await apart.look()
    assert len(await apart.database.read(lambda connection: connection.execute(chosen).all())) == 1


async def test_what_was_acknowledged_resolves_as_well(apart: Apart) -> None:
    await apart.long_ago()
    await apart.fire()
    await apart.database.write(lambda connection: connection.execute(update(alert).values(state="ack")))
    await apart.take("SYS2_VERIFIED", "SYS2_VERIFIED")
    await apart.look()
    assert await apart.states() == {"TR1": "resolved"}


async def test_what_came_before_the_alert_was_told_of_resolves_it(apart: Apart) -> None:
    await apart.long_ago()
    while await apart.rules.due.fire(100):
        pass
    missed = [each for each in await apart.rules.expectations() if each["fired_at"]]
    await apart.take("SYS2_VERIFIED", "SYS2_VERIFIED")
    [run] = await apart.rules.runs()
    await apart._tell(run, missed[0])
    await apart.look()
    assert await apart.states() == {"TR1": "resolved"}


async def test_what_nobody_counts_on_any_more_has_not_come(apart: Apart) -> None:
    await apart.long_ago()
    await apart.fire()
    given_up = update(expectation).values(abandoned_at=datetime.now(UTC))
    await apart.database.write(lambda connection: connection.execute(given_up))
    await apart.look()
    assert await apart.states() == {"TR1": "open"}


async def test_what_was_missed_again_stays_open(apart: Apart) -> None:
    await apart.long_ago()
    await apart.fire()
    await apart.take("SYS2_VERIFIED", "SYS2_VERIFIED")
    await apart.look()
    # The same key begins anew, and what it expects is missed; the run before it is over.
    over = update(workflow_run).values(finished_at=datetime.now(UTC) - timedelta(days=1), seq=99)
    await apart.database.write(lambda connection: connection.execute(over))
    await apart.rules.close()
    apart.rules = WatchHouse(apart.database, "rules", RULES)
    await apart.long_ago()
    await apart.fire()
    await apart.look()
    assert await apart.states() == {"TR1": "open"}


async def test_all_are_looked_at_so_many_at_a_time(apart: Apart) -> None:
    keys = [f"TR{n}" for n in range(7)]
    for key in keys:
        await apart.long_ago(key)
    await apart.fire()
    for key in keys[3:]:
        await apart.take("SYS2_VERIFIED", "SYS2_VERIFIED", key=key)
    await apart.look(most=2)
    assert await apart.states() == {key: "open" if key in keys[:3] else "resolved" for key in keys}


async def test_other_alerts_are_left_alone(apart: Apart) -> None:
    await apart.long_ago()
    await apart.fire()
    other = update(alert).values(reason=AlertReason.ORDER_VIOLATION.value)
    await apart.database.write(lambda connection: connection.execute(other))
    await apart.take("SYS2_VERIFIED", "SYS2_VERIFIED")
    await apart.look()
    assert await apart.states() == {"TR1": "open"}
