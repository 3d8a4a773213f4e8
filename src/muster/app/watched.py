"""What people see of watching, and do about it."""

from muster.api.watch_parts import Watched
from muster.app.ground import Ground
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.library import WatchedLibrary


def watched_parts(ground: Ground) -> Watched:
    return Watched(library=WatchedLibrary(WatchedWorkflowRepository(ground.database), ground.ids))
