"""What is measured of watching, on every database."""

from prometheus_client import CollectorRegistry

from muster.app.watch_metrics import StandingGauges
from muster.store.database import Database
from muster.store.watch_standing import WatchStanding
from watch_house import WatchHouse, event


async def test_what_is_expected_and_the_alerts_that_are_left_are_measured(database: Database) -> None:
    house, registry = WatchHouse(database), CollectorRegistry()
    gauges = StandingGauges(WatchStanding(database), registry)
    await house.watch()
    await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
    await gauges.measure()
    assert registry.get_sample_value("muster_expectations_pending") == 4
    assert registry.get_sample_value("muster_alerts", {"state": "open"}) == 0
    assert await house.due.fire(10) == 4
    await gauges.measure()
    assert registry.get_sample_value("muster_expectations_pending") == 0
    assert registry.get_sample_value("muster_alerts", {"state": "open"}) == 2
    assert registry.get_sample_value("muster_alerts", {"state": "ack"}) == 0
    await house.close()
