"""What people see of watching, and do about it."""

from muster.api.watch_parts import Watched
from muster.app.ground import Ground
from muster.store.aggregates import AggregateRepository
from muster.store.alerts import AlertRepository, GiveUp
from muster.store.boards import BoardRepository
from muster.store.incidents import IncidentRepository
from muster.store.items import ItemRepository
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.alert_book import Alerts
from muster.watch.boards import Wallboard
from muster.watch.items import Items
from muster.watch.library import WatchedLibrary


def watched_parts(ground: Ground, give_up: GiveUp) -> Watched:
    database = ground.database
    alerts = AlertRepository(database, give_up)
    return Watched(
        library=WatchedLibrary(WatchedWorkflowRepository(database), ground.ids),
        buckets=AggregateRepository(database),
        wallboard=Wallboard(BoardRepository(database), ground.clock),
        alerts=Alerts(alerts),
        incidents=IncidentRepository(database),
        items=Items(ItemRepository(database)),
    )
