"""The world outside: a sink that knows effects by their keys, and callers that start executions."""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import httpx

from stand_ins.http_site import Asked, Reply
from stand_ins.mail_server import MailServer
from torture.instances import MusterProcess

KEY = "torture"
STEPS = ("reserve", "charge")
MAIL = "tell"
NODES = ("prepare", *STEPS, MAIL, "rest", "close")
LONGEST_HOLD = 0.05
CALL_SECONDS = 4.0
_MESSAGE_ID = re.compile(rb"^Message-ID:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_SUBJECT = re.compile(rb"^Subject: Order (\d+)", re.MULTILINE)

Effect = tuple[int, str]


def workflow(sink: str) -> dict[str, object]:
    """Two effects on the sink and an e-mail, a pause that any instance may take up, and what is pure."""

    def post(step: str) -> dict[str, object]:
        body = {"order": "#{order}", "step": step}
        config = {"url": f"{sink}/{step}", "method": "POST", "body": body}
        return {"id": step, "type": "REST_SYNC", "config": config, "retry": {"maxAttempts": 20}}

    mail = {"to": "ada@example.org", "subject": "Order #{order}", "body": "It is on its way."}
    double = [{"field": "twice", "expression": "#{order * 2}"}]
    nodes = [
        {"id": "prepare", "type": "TRANSFORM", "config": {"transformations": double}},
        post("reserve"),
        {"id": MAIL, "type": "SEND_EMAIL", "config": mail, "retry": {"maxAttempts": 20}},
        {"id": "rest", "type": "delay", "config": {"duration": 1500, "unit": "milliseconds"}},
        post("charge"),
        {"id": "close", "type": "NOOP", "config": {}},
    ]
    return {"workflow": {"key": KEY, "name": "Torture", "nodes": nodes, "output": {"twice": "#{twice}"}}}


@dataclass
class Sink:
    """Does what is asked of it once for each key, and counts who asked again."""

    chance: Random = field(default_factory=Random)
    keys: dict[Effect, set[str]] = field(default_factory=lambda: defaultdict(set))
    calls: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)
    of_key: dict[str, Effect] = field(default_factory=dict)

    def answer(self, asked: Asked) -> Reply:
        key, body = asked.header("idempotency-key") or "", json.loads(asked.body)
        effect = (int(body["order"]), str(body["step"]))
        if self.of_key.setdefault(key, effect) != effect:
            self.changed.append(key)
        self.keys[effect].add(key)
        self.calls[key] += 1
        return Reply(
            200, {"Content-Type": "application/json"}, b'{"ok": true}', self.chance.random() * LONGEST_HOLD
        )

    @property
    def charged(self) -> int:
        return sum(1 for _, step in self.keys if step == STEPS[-1])


def mails(server: MailServer) -> dict[int, list[str]]:
    """The Message-IDs of each order's mails, repeats included."""
    found: dict[int, list[str]] = defaultdict(list)
    for arrived in server.arrived:
        key, order = _MESSAGE_ID.search(arrived.content), _SUBJECT.search(arrived.content)
        assert key is not None, arrived.content[:500]
        assert order is not None, arrived.content[:500]
        found[int(order[1])].append(key[1].decode())
    return found


class Callers:
    """Start executions anywhere. Only what was answered 2xx was accepted; what was not answered may be there
    or not."""

    def __init__(self, instances: Sequence[MusterProcess], sink: Sink, most_at_once: int) -> None:
        self._instances, self._sink, self._most_at_once = instances, sink, most_at_once
        self._chance = Random()
        self._orders = 0
        self._began, self._wanted = 0.0, 1
        self._seconds: float | None = None
        self.accepted: dict[str, int] = {}
        self.answers: Counter[str] = Counter()
        self.seconds: list[float] = []

    async def call(self, executions: int, seconds: float | None, clients: int) -> None:
        """So many executions, no more under way than can be borne. With a time they are spread over it, and
        it ends with it."""
        began = asyncio.get_running_loop().time()
        self._began, self._wanted, self._seconds = began, executions, seconds
        pause = 0.0 if seconds is None else seconds * clients / executions
        async with asyncio.TaskGroup() as callers:
            for _ in range(clients):
                callers.create_task(self._keep_calling(pause))

    def done(self) -> float:
        """Which part of what was wanted there is, or of the time is over."""
        part = len(self.accepted) / self._wanted
        if self._seconds is None:
            return part
        return max(part, (asyncio.get_running_loop().time() - self._began) / self._seconds)

    async def _keep_calling(self, pause: float) -> None:
        loop = asyncio.get_running_loop()
        async with httpx.AsyncClient(timeout=CALL_SECONDS) as client:
            while self.done() < 1:
                began = loop.time()
                if len(self.accepted) - self._sink.charged < self._most_at_once:
                    await self._start_one(client)
                await asyncio.sleep(max(began + pause - loop.time(), 0.01))

    async def _start_one(self, client: httpx.AsyncClient) -> None:
        self._orders += 1
        order, began = self._orders, asyncio.get_running_loop().time()
        body = {"key": KEY, "context": {"order": order}}
        try:
            answer = await self._post(client, body)
        except httpx.ConnectError:
            self.answers["nobody there"] += 1
            return
        except httpx.TransportError:
            self.answers["none"] += 1
            return
        self.answers[str(answer.status_code)] += 1
        if answer.is_success:
            self.accepted[answer.json()["executionId"]] = order
            self.seconds.append(asyncio.get_running_loop().time() - began)
        elif answer.status_code != 503:
            raise AssertionError(f"{answer.status_code}: {answer.text}")

    async def _post(self, client: httpx.AsyncClient, body: object) -> httpx.Response:
        """Ask one, and where nobody listens the next: there, nothing can have been accepted."""
        *first, last = self._chance.sample(self._instances, len(self._instances))
        for target in first:
            with suppress(httpx.ConnectError):
                return await client.post(f"{target.url}/api/workflow/execute", json=body)
        return await client.post(f"{last.url}/api/workflow/execute", json=body)
