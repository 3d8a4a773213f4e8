"""Commands: each is sent once to a reader of what is committed, and its reply lets the execution go on."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from sqlalchemy import func, select

from kafka_stranger import Stranger
from muster.engine.bus import Outgoing
from muster.engine.commands import CORRELATION_ID
from muster.store.tables import dead_letter, outbox_message, workflow_execution, workflow_kafka_commands
from soak.ground import PARTITIONS, Ground
from soak.samples import Tally, ended
from torture.judge import Verdict, of_workflow, same
from torture.offsets import SILENT

KEY, COMMANDS, REPLIES = "commanding", "soak-commands", "soak-replies"
RATE, CLIENTS = 4.0, 6
REPEATED, STRANGE = 0.05, 0.02
WORKFLOW = {
    "workflow": {
        "key": KEY,
        "name": "Commanding",
        "nodes": [
            {
                "id": "send",
                "type": "KAFKA_COMMAND",
                "config": {
                    "commandTopic": COMMANDS,
                    "replyTopic": REPLIES,
                    "command": {"type": "DOUBLE", "payload": {"order": "#{order}"}},
                    "timeout": "3600s",
                    "outputMapping": {"twice": "$.twice"},
                },
            }
        ],
    }
}
E, K = workflow_execution.c, workflow_kafka_commands.c


class Commands:
    """Who starts them, and who replies: to each, to some twice, and now and then to nothing at all."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._chance = ground, ground.chance("replies")
        self._accepted: dict[str, int] = {}
        self._strange: list[str] = []

    async def prepare(self) -> None:
        await self._ground.door.ask("POST", "/api/workflow", WORKFLOW)

    async def keep_on(self) -> None:
        await self._ground.paced(RATE, CLIENTS, self._send, KEY)

    async def _send(self, order: int) -> None:
        body = {
            "key": KEY,
            "context": {"order": order, "sentAt": time.time()},
            "idempotencyKey": f"command {order}",
        }
        answer = await self._ground.door.ask("POST", "/api/workflow/execute", body)
        self._accepted[answer["executionId"]] = order

    async def reply(self) -> None:
        """Until cancelled."""
        reader = Consumer(
            {
                "bootstrap.servers": self._ground.brokers,
                "group.id": "soak-replier",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                **SILENT,
            }
        )
        reader.assign([TopicPartition(COMMANDS, place, 0) for place in range(PARTITIONS)])
        try:
            while True:
                with suppress(KafkaException):
                    for record in await asyncio.to_thread(reader.consume, 100, 0.2):
                        if record.error() is None:
                            await self._reply_to(record)
        finally:
            reader.close()

    async def _reply_to(self, record: Message) -> None:
        value = json.dumps({"twice": _order(record.value()) * 2}).encode()
        correlation = dict(record.headers() or [])[CORRELATION_ID]
        assert isinstance(correlation, bytes)
        replies = [Outgoing(REPLIES, value, correlation, ((CORRELATION_ID, correlation),))]
        if self._chance.random() < REPEATED:
            replies *= 2
        if self._chance.random() < STRANGE:
            nobody = str(UUID(int=self._chance.getrandbits(128)))
            self._strange.append(f'{{"nobody": "{nobody}"}}')
            headers = ((CORRELATION_ID, nobody.encode()),)
            replies.append(Outgoing(REPLIES, self._strange[-1].encode(), None, headers))
        await self._ground.bus.publish(replies)

    async def left(self) -> Sequence[str]:
        unsent = select(func.count()).where(outbox_message.c.published_at.is_(None))
        waiting = await self._ground.database.read(lambda connection: connection.scalar(unsent))
        letters = await self._letters()
        found = [f"{waiting} messages of the outbox are not published"] if waiting else []
        if len(letters) < len(self._strange):
            found.append(f"{len(letters)} of {len(self._strange)} dead letters")
        return found

    async def _letters(self) -> list[str]:
        chosen = select(dead_letter.c.value).where(dead_letter.c.source == REPLIES)
        found = await self._ground.database.read(lambda connection: connection.scalars(chosen).all())
        return [str(value["value"]) for value in found]

    async def judge(self, verdict: Verdict) -> Tally:
        chosen = select(E.id, E.status, E.given, E.context, E.completed_at).where(of_workflow(KEY))
        rows = await self._ground.database.read(lambda connection: connection.execute(chosen).all())
        orders = Counter(row.given["order"] for row in rows)
        same(verdict, Counter(self._accepted.values()), orders, "executions of commands")
        badly = [row.id for row in rows if row.context.get("twice") != row.given["order"] * 2]
        verdict.expect_none(badly, "commands went on without their reply, or with another's")
        sent = await asyncio.to_thread(Stranger(self._ground.brokers).read, COMMANDS)
        same(verdict, orders, Counter(_order(seen.value) for seen in sent), "commands on their topic")
        await self._judge_rows(verdict, rows)
        same(verdict, Counter(self._strange), Counter(await self._letters()), "dead letters of replies")
        done = sum(row.status == "COMPLETED" for row in rows)
        samples = ended([(row.given["sentAt"], row.completed_at) for row in rows])
        return Tally("commands with replies", len(self._accepted), done, samples)

    async def _judge_rows(self, verdict: Verdict, rows: Sequence[Any]) -> None:
        chosen = select(K.workflow_instance_id, K.status)
        found = await self._ground.database.read(lambda connection: connection.execute(chosen).all())
        wanted = Counter((row.id, "REPLY_RECEIVED") for row in rows)
        same(verdict, wanted, Counter((row[0], row[1]) for row in found), "rows of commands")


def _order(value: bytes | None) -> int:
    return int(json.loads(value or b"{}")["payload"]["order"])
