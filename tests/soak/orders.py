"""Triggers: orders that somebody's webhook tells of, each of which has effects outside."""

import time
from collections.abc import Sequence

from sqlalchemy import select

from muster.store.tables import workflow_execution
from soak.ground import Ground
from soak.samples import Tally, ended
from stand_ins.http_site import Site
from stand_ins.mail_server import MailServer
from torture.judge import Verdict, judge, of_workflow
from torture.outside import KEY, Sink, mails, workflow

RATE, CLIENTS = 6.0, 8
PATH = "soak/orders"
TRIGGER = {
    "workflowId": KEY,
    "path": PATH,
    "authentication": "NONE",
    "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["order"]},
}


class Orders:
    def __init__(self, ground: Ground, site: Site, sink: Sink, post: MailServer) -> None:
        self._ground, self._site, self._sink, self._post = ground, site, sink, post
        self._accepted: dict[str, int] = {}

    async def prepare(self) -> None:
        await self._ground.door.ask("POST", "/api/workflow", workflow(self._site.url("").rstrip("/")))
        await self._ground.door.ask("POST", "/api/workflow/triggers", TRIGGER)

    async def keep_on(self) -> None:
        await self._ground.paced(RATE, CLIENTS, self._send, KEY)

    async def _send(self, order: int) -> None:
        body = {"order": order, "sentAt": time.time()}
        answer = await self._ground.door.ask("POST", f"/api/workflow/trigger/{PATH}", body)
        self._accepted[answer["executionId"]] = order
        self._site.asked.clear()  # the sink knows what counts; this would grow for hours

    async def left(self) -> Sequence[str]:
        return []

    async def judge(self, verdict: Verdict) -> Tally:
        found = await judge(self._ground.database, self._accepted, self._sink, mails(self._post))
        verdict.wrong += [f"triggers: {wrong}" for wrong in found.wrong]
        wanted = select(
            workflow_execution.c.given, workflow_execution.c.completed_at, workflow_execution.c.status
        ).where(of_workflow(KEY))
        rows = await self._ground.database.read(lambda connection: connection.execute(wanted).all())
        verdict.expect_none(
            [] if len(rows) == len(self._accepted) else [len(rows)], "executions, not one for each order"
        )
        done = sum(row.status == "COMPLETED" for row in rows)
        samples = ended([(row.given["sentAt"], row.completed_at) for row in rows])
        return Tally("triggers", len(self._accepted), done, samples)
