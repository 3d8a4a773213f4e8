"""An engine for tests of waits for events: a service that is called, and events that come in any order."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from engine_house import LEASE
from muster.engine.at_hand import AtHand
from muster.engine.event_waits import Accepted, Arrived, Source, Verdict
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject
from muster.nodes.ports import HttpAnswer, HttpRequest
from muster.nodes.waiting_for_events import WaitForEvents
from muster.store.database import Database
from muster.store.event_wait_records import EventWaitRepository
from muster.store.resuming import Receptions
from muster.store.tables import execution_wait_states, near_miss
from waiting_house import Waiting

W = execution_wait_states.c
TOPIC = "ext.events"
DONE: JsonObject = {"event_type": "done"}
API_CALL: JsonObject = {"url": "http://service.test/api", "body": {"q": "#{q}"}}
KAFKA_EVENT: JsonObject = {"topic": TOPIC, "filter": {"event_type": "done"}}
END: JsonObject = {"id": "end", "type": "TELL", "config": {"say": "end"}}


class Service:
    """Who is called: keeps the requests, and answers as told, else `{}`."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.answers: list[HttpAnswer | Failure] = []

    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else answered(200, {})

    @property
    def bodies(self) -> list[Json]:
        return [json.loads(request.content or b"null") for request in self.requests]


def answered(status: int, body: Json) -> HttpAnswer:
    headers = (("content-type", "application/json"),)
    return HttpAnswer(status, headers, json.dumps(body).encode(), "service.test")


class Awaiting(Waiting):
    def __init__(self, database: Database, name: str = "here", at_hand: AtHand | None = None) -> None:
        super().__init__(database, name=name, at_hand=at_hand)
        self.service = Service()
        self.receptions = Receptions(self.committer, name, LEASE)
        self.waits = EventWaitRepository(database, self.receptions)
        new_id = lambda: str(uuid.uuid4())  # noqa: E731  # as it is wired
        wait = WaitForEvents(self.service, self.waits, new_id, "http://muster.test")
        self.openers["WAIT_EVENTS"] = self.wakers["WAIT_EVENTS"] = wait

    async def wait_for(self, key: str = "w", **config: Any) -> str:
        """Save a workflow that waits for both events, or as told, and begin it: the execution's id."""
        whole = {"apiCall": API_CALL, "kafkaEvent": KAFKA_EVENT, **config}
        node = {
            "id": "wait",
            "type": "wait_events",
            "config": {k: v for k, v in whole.items() if v is not None},
        }
        await self.save(key, node, END)
        return await self.begin_waiting(key)

    async def begin_waiting(self, key: str = "w") -> str:
        execution = await self.begin(key, q=1)
        await self.instance.ended(execution)
        return execution

    async def wait_row(self, execution: str) -> Any:
        wanted = select(execution_wait_states).where(W.execution_id == execution).order_by(W.visit)
        return await self.database.read(lambda connection: connection.execute(wanted).first())

    async def wait_rows(self, execution: str) -> Sequence[Any]:
        """By their nodes and visits."""
        mine = select(execution_wait_states).where(W.execution_id == execution)
        wanted = mine.order_by(W.node_id, W.visit)
        return await self.database.read(lambda connection: connection.execute(wanted).all())

    async def misses(self) -> list[str]:
        wanted = select(near_miss.c.reason).order_by(near_miss.c.id)
        return list(await self.database.read(lambda connection: connection.scalars(wanted).all()))

    async def first_miss(self) -> int:
        wanted = select(near_miss.c.id).order_by(near_miss.c.id).limit(1)
        return await self.database.read(lambda connection: connection.execute(wanted).scalar_one())

    async def callback(self, execution: str, data: Json = None, **other: Any) -> str:
        return await self.offer(
            Arrived(Source.CALLBACK, *await self._ids(execution, other), data or {"ok": True})
        )

    async def message(self, execution: str, data: Json = None, **other: Any) -> str:
        ids = await self._ids(execution, other)
        return await self.offer(Arrived(Source.KAFKA, *ids, data or DONE, other.get("topic", TOPIC)))

    async def _ids(self, execution: str, other: dict[str, Any]) -> tuple[str, str]:
        row = await self.wait_row(execution)
        return other.get("to", execution), other.get("correlation", row.correlation_id)

    async def offer(self, event: Arrived) -> str:
        [verdict] = await self.waits.receive([event])
        return said(verdict)

    async def status(self, execution: str) -> str:
        return str((await self.row(execution))["status"])

    async def run_out(self, execution: str) -> None:
        """Let the time of a wait be over, and whoever is due go on."""
        await self.pass_time(hours=1)
        await self.settle()

    async def change_wait(self, execution: str, **values: object) -> None:
        changed = update(execution_wait_states).where(W.execution_id == execution).values(**values)
        await self.database.write(lambda connection: connection.execute(changed))


def said(verdict: Verdict) -> str:
    return "accepted" if isinstance(verdict, Accepted) else verdict.reason.value
