"""What the edge is given of watching."""

from dataclasses import dataclass

from muster.watch.aggregates import Buckets
from muster.watch.alert_book import Alerts
from muster.watch.backtest import Backtest
from muster.watch.boards import Wallboard
from muster.watch.items import Items
from muster.watch.library import WatchedLibrary
from muster.watch.notifying import IncidentBook


@dataclass(frozen=True, slots=True)
class Watched:
    library: WatchedLibrary
    buckets: Buckets
    wallboard: Wallboard
    alerts: Alerts
    incidents: IncidentBook
    items: Items
    backtest: Backtest
