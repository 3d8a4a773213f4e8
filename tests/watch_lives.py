"""What may happen to what is watched, all of it in one go."""

from datetime import timedelta

from muster.model.access import Caller, How, Role
from muster.model.stored import Page
from muster.store.alerts import AlertRepository
from muster.watch.alert_book import Act, Alerts, WantedAlerts
from muster.watch.lifecycle import AlertAction
from watch_house import NOON, WatchHouse, event
from watched_trade import TRADE

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)


async def live_through_everything(house: WatchHouse) -> None:
    """Events on time, late, out of order and not at all; what was missed comes later, or is given up."""
    await house.watch({**TRADE, "optionalEdges": "watch"})
    for minute, key in enumerate(("TR1", "TR2", "TR3", "TR4")):
        await house.take(event("TRADE_INGEST", key, NOON + timedelta(minutes=minute)))
    await house.take(event("SYS2_VERIFIED", "TR1", NOON + timedelta(minutes=1)))
    await house.take(event("SYS3_ACK", "TR1", NOON + timedelta(minutes=2)))
    await house.take(event("SYS2_VERIFIED", "TR2", NOON + timedelta(minutes=40)))
    await house.take(event("SYS3_ACK", "TR3", NOON + timedelta(minutes=50)))
    await house.take(event("SYS2_VERIFIED", "TR3", NOON + timedelta(minutes=51)))
    while await house.due.fire(1000):
        pass
    await house.take(event("SYS2_VERIFIED", "TR1", NOON + timedelta(hours=20)))
    alerts = Alerts(AlertRepository(house.database, house.due.give_up))
    found, _ = await alerts.list(OPERATOR, WantedAlerts(q="TR4"), Page(10))
    await alerts.act_on([each.id for each in found], Act(AlertAction.RESOLVE, "ann"), OPERATOR)
    await house.take(event("SYS2_VERIFIED", "TR4", NOON + timedelta(hours=30)))
