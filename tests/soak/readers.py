"""Those who look: at lists and boards, and followers of streams who come back whenever those end."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx

from soak.ground import AGAIN, Ground
from soak.samples import Sample, Tally
from torture.judge import Verdict

RATE, CLIENTS, FOLLOWERS = 6.0, 4, 4
PATHS = (
    "/api/workflow/executions?limit=50",
    "/api/workflow/executions?status=WAITING&limit=50",
    "/wallboard",
    "/items?q=item-1",
    "/alerts",
    "/api/commands?limit=50",
    "/api/dead-letters",
    "/api/workflow/schedule",
    "/api/instances",
    "/api/outbox/streams",
)
COUNTS = ("inFlight", "completed", "late", "failed")
STREAM = "/api/stream?topics=executions,wallboard"
# A stream gives a sign of life every 15 seconds; who hears none comes back.
STREAM_SECONDS = 25.0


class Readers:
    """Nobody asks twice: `503`, or no answer at all, is what somebody sees who reads while it goes wrong."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._chance = ground, ground.chance("readers")
        self._answers: Counter[str] = Counter()
        self._odd: list[str] = []
        self._samples: list[Sample] = []
        self.followers = [Follower(ground) for _ in range(FOLLOWERS)]

    async def prepare(self) -> None:
        pass

    async def keep_on(self) -> None:
        await self._ground.paced(RATE, CLIENTS, self._read)

    async def _read(self, _: int) -> None:
        path, began = self._chance.choice(PATHS), time.time()
        try:
            answer = await self._ground.door.client.get(f"{self._ground.door.any()}{path}")
        except httpx.TransportError:
            self._answers["none"] += 1
            return
        self._answers[str(answer.status_code)] += 1
        if answer.status_code == 200:
            self._samples.append(Sample(began, time.time() - began))
        elif answer.status_code not in AGAIN:
            self._odd.append(f"{path}: {answer.status_code} {answer.text[:300]}")

    async def left(self) -> Sequence[str]:
        board = _brief(await self._ground.door.ask("GET", "/wallboard"))
        return [
            f"a follower's board is another: {each.board}, not {board}"
            for each in self.followers
            if each.board != board
        ]

    async def judge(self, verdict: Verdict) -> Tally:
        verdict.expect_none(self._odd, "readers were answered otherwise than 200 or 503")
        odd = [odd for follower in self.followers for odd in follower.odd]
        verdict.expect_none(odd, "followers were answered otherwise than 200 or 503")
        return Tally("console readers", self._answers.total(), self._answers["200"], self._samples)

    def heard(self) -> Tally:
        """`sent` is how often followers had to come back."""
        return Tally(
            "events on streams",
            sum(follower.comings for follower in self.followers),
            sum(follower.heard for follower in self.followers),
        )


class Follower:
    """Follows what lists and boards show, wherever there is somebody who tells."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(5.0, read=STREAM_SECONDS))
        self._place: str | None = None
        self.board: dict[str, Any] = {}
        self.comings = self.heard = 0
        self.odd: list[str] = []

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            self.comings += 1
            with suppress(httpx.TransportError):
                await self._follow_once()
            await asyncio.sleep(1.0)

    async def _follow_once(self) -> None:
        headers = {} if self._place is None else {"Last-Event-ID": self._place}
        async with self._client.stream(
            "GET", f"{self._ground.door.any()}{STREAM}", headers=headers
        ) as answer:
            if answer.status_code != 200:
                if answer.status_code not in AGAIN:
                    self.odd.append(f"{answer.status_code} {(await answer.aread())[:300]!r}")
                return
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "data" in fields:
                    self._hear(fields)
                    fields = {}

    def _hear(self, fields: dict[str, str]) -> None:
        self.heard += 1
        self._place = fields["id"]
        if fields["event"] == "wallboard":
            self.board |= _brief(json.loads(fields["data"]))


def _brief(board: dict[str, Any]) -> dict[str, Any]:
    """What is counted of each workflow's nodes; not how long there is until something is due."""
    return {
        each["key"]: {
            f"{group['groupHash']}/{node['node']}": [node[name] for name in COUNTS]
            for group in each["groups"]
            for node in group["nodes"]
        }
        for each in board["workflows"]
    }
