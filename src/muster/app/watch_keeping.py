"""What keeps the tables of watching small, put together."""

from collections.abc import Callable, Collection
from datetime import timedelta

from muster.app.ground import Ground
from muster.engine.housekeeping import Expiring, Housekeeping
from muster.kit.loop import Loop
from muster.store.watch_idle import IdleRuns
from muster.store.watch_retention import OldRuns, old_events
from muster.watch.stages import Stage

IDLE_EVERY = 600.0
IDLE_AT_ONCE = 500


def keeping(ground: Ground, stages: Collection[Stage], loop: Callable[..., Loop]) -> list[Loop]:
    """The passes that let go of what is over."""
    watch = ground.settings.watch
    kept: list[Expiring] = []
    if Stage.INGEST in stages:
        kept.append(old_events(ground.database, timedelta(days=watch.event_retention_days)))
    if Stage.RULE in stages:
        kept.append(OldRuns(ground.database, timedelta(days=watch.run_retention_days)))
    idle = IdleRuns(ground.database, timedelta(seconds=watch.abandon_after))

    async def finish() -> float:
        return 0.0 if await idle.finish(IDLE_AT_ONCE) else IDLE_EVERY

    found = [loop("what was watched long ago", Housekeeping(kept).tidy)] if kept else []
    return [*found, loop("idle runs", finish)] if Stage.RULE in stages else found
