"""Those who answer waits: over callbacks and messages, in random order, some twice, some wrongly, and some
with what nobody can read."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

import httpx

from muster.bus.kafka import KafkaBus
from muster.engine.bus import Outgoing, Place
from muster.model.json import JsonObject
from torture.instances import MusterProcess

TOPIC = "answers"
CALLBACK = "/api/internal/callbacks/external-service"
REPEATED, POISONED, WRONG = 0.05, 0.01, 0.02
CLIENTS = 24
MOST_TRIES = 1_200
CALL_SECONDS = 10.0

Ids = tuple[str, str]


class By(StrEnum):
    CALLBACK = "called"
    MESSAGE = "told"


@dataclass(frozen=True, slots=True)
class Answer:
    """`ids` are those that it carries. A wrong one belongs to nobody by them; a poisonous one is no JSON."""

    number: int
    by: By
    ids: Ids
    is_wrong: bool = False
    is_poison: bool = False

    @property
    def body(self) -> JsonObject:
        return {"execution_id": self.ids[0], "correlation_id": self.ids[1], "number": self.number}

    @property
    def text(self) -> bytes:
        return f"poison {self.number} {{".encode() if self.is_poison else json.dumps(self.body).encode()


@dataclass
class Answers:
    """What is to be sent, in which order; and of each wait the answers that are meant for it."""

    chance: Random
    rightful: dict[Ids, dict[By, int]] = field(default_factory=dict)
    repeated: set[tuple[Ids, By]] = field(default_factory=set)
    ahead: list[Answer] = field(default_factory=list)

    def prepare(self, waits: Sequence[Ids]) -> Sequence[Answer]:
        """What is to be sent for these, in its order; others may follow."""
        first = len(self.ahead)
        for ids in waits:
            both = [self._new(by, ids) for by in By]
            self.rightful[ids] = {each.by: each.number for each in both}
            if self.chance.random() < REPEATED:
                again = self.chance.choice(both)
                self.repeated.add((ids, again.by))
                self.ahead.append(again)
        for _ in range(max(int(len(waits) * WRONG), 1)):
            execution, correlation = self.chance.choice(waits)
            other = self.chance.choice([ids[0] for ids in waits if ids[0] != execution])
            wrong = self.chance.choice([(other, correlation), (execution, f"not-{correlation}")])
            self._new(self.chance.choice(list(By)), wrong, is_wrong=True)
        for _ in range(max(int(len(waits) * POISONED), 1)):
            self._new(By.MESSAGE, self.chance.choice(waits), is_poison=True)
        fresh = self.ahead[first:]
        self.chance.shuffle(fresh)
        self.ahead[first:] = fresh
        return fresh

    def _new(self, by: By, ids: Ids, is_wrong: bool = False, is_poison: bool = False) -> Answer:
        made = Answer(len(self.ahead), by, ids, is_wrong, is_poison)
        self.ahead.append(made)
        return made


class Answering:
    """Sends answers, each until it is acknowledged. `published` is where each message is, `begun` when each
    was first sent, and `tries` how often each callback was."""

    def __init__(self, instances: Sequence[MusterProcess], bus: KafkaBus) -> None:
        self._instances, self._bus = instances, bus
        self._chance = Random()
        self.accepted: Counter[tuple[Ids, By]] = Counter()
        self.told: Counter[str] = Counter()
        self.begun: dict[int, float] = {}
        self.tries: Counter[int] = Counter()
        self.published: dict[tuple[Place, int], Answer] = {}

    async def answer_all(self, answers: Sequence[Answer]) -> None:
        left = iter(answers)

        async def keep_answering() -> None:
            async with httpx.AsyncClient(timeout=CALL_SECONDS) as client:
                for each in left:
                    self.begun.setdefault(each.number, time.time())
                    if each.by is By.CALLBACK:
                        await self._call_back(client, each)
                    else:
                        await self._publish(each)

        async with asyncio.TaskGroup() as senders:
            for _ in range(min(CLIENTS, len(answers))):
                senders.create_task(keep_answering())

    async def _publish(self, answer: Answer) -> None:
        key = answer.ids[1].encode()
        [place] = await self._bus.publish([Outgoing(TOPIC, answer.text, key)])
        self.published[place] = answer

    async def _call_back(self, client: httpx.AsyncClient, answer: Answer) -> None:
        for _ in range(MOST_TRIES):
            url = f"{self._chance.choice(self._instances).url}{CALLBACK}"
            self.tries[answer.number] += 1
            with suppress(httpx.TransportError):
                found = await client.post(url, json=answer.body)
                if found.status_code == 200:
                    return self._note(answer, found.json())
                assert found.status_code == 503, found.text
            await asyncio.sleep(0.1)
        raise AssertionError(f"{answer} was never acknowledged")

    def _note(self, answer: Answer, told: Mapping[str, object]) -> None:
        self.told["accepted" if told["accepted"] else str(told["reason"])] += 1
        if told["accepted"]:
            self.accepted[answer.ids, answer.by] += 1
