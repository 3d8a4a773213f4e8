"""What people see of watching, and do about it."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from sqlalchemy import Connection

from muster.api.watch_parts import Watched
from muster.app.ground import Ground
from muster.app.settings import Settings
from muster.app.watch_topics import read_since, stages_of, topic_names, wanted_topics
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.store.aggregates import AggregateRepository
from muster.store.alerts import AlertRepository, GiveUp
from muster.store.boards import BoardRepository
from muster.store.bus_leases import subscribed_topics
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.incidents import IncidentRepository
from muster.store.items import ItemRepository
from muster.store.replaying import HistoryRepository
from muster.store.watch_due import DueExpectations
from muster.store.watched_graphs import WatchedGraphs
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.alert_book import Alerts
from muster.watch.backtest import Backtest
from muster.watch.boards import Wallboard
from muster.watch.items import Items
from muster.watch.library import WatchedLibrary


def watched_parts(ground: Ground, give_up: GiveUp) -> Watched:
    database = ground.database
    alerts = AlertRepository(database, give_up)
    return Watched(
        library=_library(database, ground.ids),
        buckets=AggregateRepository(database),
        wallboard=Wallboard(BoardRepository(database), ground.clock),
        alerts=Alerts(alerts),
        incidents=IncidentRepository(database),
        items=Items(ItemRepository(database)),
        backtest=backtest(database, ground.ids, ground.clock),
    )


def _library(database: Database, ids: Ids) -> WatchedLibrary:
    return WatchedLibrary(WatchedWorkflowRepository(database), ids)


def backtest(database: Database, ids: Ids, clock: Clock) -> Backtest:
    return Backtest(_library(database, ids), HistoryRepository(database), clock)


def giving_up(database: Database, settings: Settings) -> GiveUp:
    """How what was missed is counted on no longer, beside a server."""
    none = timedelta(0)

    def give_up(connection: Connection, missed: Mapping[int, Collection[str]]) -> object:
        since = read_since(settings, now(connection))
        wanted = wanted_topics(settings, subscribed_topics(connection, since))
        due = DueExpectations(
            database,
            WatchedGraphs(),
            settings.instance_id,
            stages_of(settings),
            topic_names(settings),
            lambda: wanted,
            none,
            none,
        )
        return due.give_up(connection, missed)

    return give_up
