"""What an operator gives up is counted once, wherever it is counted and whoever applies the rules."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from muster.app.settings import Settings
from muster.app.watched import giving_up
from muster.engine.bus import Batch, Message
from muster.model.access import Caller, How, Role
from muster.store.alerts import AlertRepository
from muster.store.bus import EmbeddedBus
from muster.store.bus_leases import subscribed_topics
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.tables import outbox_message
from muster.store.watch_stages import AggregateStage, AlertStage
from muster.watch.alert_book import Act, Alerts
from muster.watch.lifecycle import AlertAction
from muster.watch.stages import Stage
from watch_house import WatchHouse, event

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)
TOLD = ("rule.evaluated", "alerts.triggered")


@dataclass
class Counting:
    """The rules are applied elsewhere, on the same database; here is counted what those tell."""

    rules: WatchHouse
    here: WatchHouse
    read: int = 0

    async def hear(self) -> None:
        stages = {
            "rule.evaluated": AggregateStage(self.here.database),
            "alerts.triggered": AlertStage(self.here.database),
        }
        rows = await self.here.rows(outbox_message, "id")
        for row in rows[self.read :]:
            message = Message(row["topic"], 0, row["id"], None, row["value"], (), row["created_at"])
            await stages[row["topic"]](Batch([message]))
        self.read = len(rows)


@pytest.fixture
async def counting(database: Database) -> AsyncIterator[Counting]:
    rules = WatchHouse(database, "rules", (Stage.INGEST, Stage.RULE), TOLD)
    here = WatchHouse(database, "here", (Stage.AGGREGATE, Stage.ALERT), TOLD)
    yield Counting(rules, here)
    await rules.close()
    await here.close()


async def test_what_is_given_up_where_it_is_counted_is_counted_once(counting: Counting) -> None:
    await counting.rules.watch()
    await counting.rules.take(event("TRADE_INGEST"))
    assert await counting.rules.due.fire(10) == 2
    await counting.hear()
    assert (await counting.here.totals())["sys2-verify"] == (2, 0, 2, 0)
    [alert] = await counting.here.alerts()
    alerts = Alerts(AlertRepository(counting.here.database, counting.here.due.give_up))
    await alerts.act(alert["id"], Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    await counting.hear()
    assert (await counting.here.totals())["sys2-verify"] == (0, 0, 2, 0)


async def test_who_gives_up_beside_a_server_tells_those_who_read_along(database: Database) -> None:
    house = WatchHouse(database)
    await house.watch()
    await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
    assert await house.due.fire(10) == 4
    first, second = [row["id"] for row in await house.alerts()]
    alerts = Alerts(AlertRepository(database, giving_up(database, Settings())))
    await alerts.act(first, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    assert await house.rows(outbox_message) == []

    committer = GroupCommitter(database)
    bus = EmbeddedBus(database, committer, "there/1", "there/", timedelta(seconds=30))
    reader = bus.member("who-reads-along")
    await reader.subscribe(["rule.evaluated"])
    await reader.fetch(1, 0)
    await reader.leave()  # for a while
    await alerts.act(second, Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    told = [json.loads(row["value"])["inFlightDeltas"] for row in await house.rows(outbox_message)]
    assert told == [{"sys2-verify": -1}] * 2
    await committer.close()
    await house.close()


async def test_who_was_not_seen_for_as_long_as_messages_are_kept_reads_no_longer(database: Database) -> None:
    committer = GroupCommitter(database)
    bus = EmbeddedBus(database, committer, "there/1", "there/", timedelta(seconds=30))
    reader = bus.member("who-reads-along")
    await reader.subscribe(["rule.evaluated"])
    await reader.fetch(1, 0)
    at = datetime.now(UTC)
    for since, found in ((at - timedelta(days=7), {"rule.evaluated"}), (at + timedelta(days=1), set())):
        assert await database.read(partial(subscribed_topics, since=since)) == found
    await committer.close()
