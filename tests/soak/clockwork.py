"""Schedules that fire every other second: each occurrence once, none left out, whoever was away."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select

from muster.store.tables import workflow_execution
from soak.ground import Ground
from soak.samples import Sample, Tally
from torture.judge import Verdict, same

SCHEDULES, EVERY = 4, timedelta(seconds=2)
KEY, PATH = "clockwork", "/api/workflow/schedule"
WORKFLOW = {"workflow": {"key": KEY, "name": "Clockwork", "nodes": [{"id": "tick", "type": "NOOP"}]}}
SCHEDULE = {
    "workflowId": KEY,
    "scheduleType": "CRON",
    "cronExpression": f"*/{EVERY.seconds} * * * * *",
    "misfire": "fire_all",
    "overlap": "allow",
}
E = workflow_execution.c


class Clockwork:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._first: dict[str, datetime] = {}
        self._until = 0.0

    async def prepare(self) -> None:
        await self._ground.door.ask("POST", "/api/workflow", WORKFLOW)

    async def keep_on(self) -> None:
        for _ in range(SCHEDULES):
            made = await self._ground.door.ask("POST", PATH, SCHEDULE)
            self._first[made["id"]] = datetime.fromisoformat(made["nextRunAt"])
        await self._ground.over.wait()
        self._until = time.time()

    async def stop(self) -> None:
        """Once all that was to come has: from then on nothing fires."""
        for each in self._first:
            await self._ground.door.ask("POST", f"{PATH}/{each}/deactivate")

    async def left(self) -> Sequence[str]:
        fired = [key for key, _ in await self._occurrences()]
        latest = {
            each: max((at for which, at in fired if which == each), default=None) for each in self._first
        }
        return [
            f"schedule {each} has fired until {last}"
            for each, last in latest.items()
            if last is None or last.timestamp() < self._until - EVERY.seconds
        ]

    async def _occurrences(self) -> list[tuple[tuple[str, datetime], datetime]]:
        """Of which schedule and for when each is, and when it was started."""
        chosen = select(E.trigger_id, E.given, E.started_at).where(E.trigger_id.in_(list(self._first)))
        rows = await self._ground.database.read(lambda connection: connection.execute(chosen).all())
        return [
            ((row.trigger_id, datetime.fromisoformat(row.given["_trigger"]["scheduledTime"])), row.started_at)
            for row in rows
        ]

    async def judge(self, verdict: Verdict) -> Tally:
        found = await self._occurrences()
        wanted = Counter(
            (each, at)
            for each, first in self._first.items()
            for at in _times(first, max((at for (which, at), _ in found if which == each), default=first))
        )
        same(verdict, wanted, Counter(key for key, _ in found), "occurrences of schedules")
        samples = [Sample(at.timestamp(), (began - at).total_seconds()) for (_, at), began in found]
        return Tally("schedules (to their start)", wanted.total(), len(found), samples)


def _times(first: datetime, last: datetime) -> list[datetime]:
    return [first + EVERY * number for number in range((last - first) // EVERY + 1)]
