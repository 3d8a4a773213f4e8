"""Real `muster serve` processes: started, frozen, killed, and started again under the same name."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import httpx

from ports import free_port
from torture.dumping import ASK
from torture.nursery import Child, Nursery

READY_SECONDS = 120.0
LOOKS = 2400
END_SECONDS = 60.0
LOOK_SECONDS = 5.0


class MusterProcess:
    """One instance. Its log is kept over all of its starts."""

    def __init__(self, name: str, nursery: Nursery, folder: Path, settings: dict[str, str]) -> None:
        self.name, self._nursery, self._folder = name, nursery, folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self.is_ready = self.is_frozen = False
        self._settings = {"INSTANCE_ID": name, "MUSTER_PORT": str(self.port), **settings}
        self._process: Child | None = None

    @property
    def log(self) -> Path:
        return self._folder / f"{self.name}.log"

    @property
    def process(self) -> Child:
        assert self._process is not None, "it was never started"
        return self._process

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.is_alive

    def start(self) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self.starts += 1
        self.is_ready = self.is_frozen = False
        self._process = self._nursery.child(["serve"], inherited | self._settings, self._folder, self.log)

    async def ready(self) -> None:
        """Wait until it can do its work. An instance that ends instead is a failure."""
        async with asyncio.timeout(READY_SECONDS), httpx.AsyncClient() as client:
            while not await self.look(client):
                assert self.is_up, self.log.read_text()[-2000:]
                await asyncio.sleep(0.05)

    async def ready_at_last(self) -> None:
        """Wait until it can do its work, however often somebody has to start it until then."""
        self.is_ready = False
        async with httpx.AsyncClient() as client:
            for _ in range(LOOKS):
                if await self.look(client):
                    return
                await asyncio.sleep(0.05)
        if self.is_up:
            self.process.send(ASK)
            await asyncio.sleep(2)
        raise AssertionError(f"{self.name} is not ready: {self.log.read_text()[-8000:]}")

    async def look(self, client: httpx.AsyncClient) -> bool:
        """Whether it has been ready since it was started."""
        with suppress(httpx.TransportError):
            started = self.starts
            answer = await client.get(f"{self.url}/health/ready", timeout=LOOK_SECONDS)
            self.is_ready = self.is_ready or (answer.status_code == 200 and started == self.starts)
        return self.is_ready

    def kill(self) -> None:
        if self._process is not None:
            self._process.send(signal.SIGKILL)
            self._process.wait(END_SECONDS)
            self._process = None

    def freeze(self) -> None:
        self.process.send(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        self.process.send(signal.SIGCONT)
        self.is_frozen = False

    def ask_to_end(self) -> None:
        self.process.send(signal.SIGTERM)
        self.is_ready = False

    async def end(self) -> int:
        """Ask it to end, and wait for that: its exit code."""
        self.ask_to_end()
        return await self.ended()

    async def ended(self) -> int:
        return await asyncio.to_thread(self.process.wait, END_SECONDS)
