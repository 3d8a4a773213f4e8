"""A line to a service: bytes pass, in their order, as late as it is told, or not at all for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK, MOST_CHUNKS = 65_536, 256

Pipe = asyncio.Queue[tuple[float, bytes]]


class Line:
    """`delay` is how many seconds each byte takes, either way. Where nobody is at the other end, whoever
    connects is hung up on."""

    def __init__(self, target_port: int) -> None:
        self._target, self.port, self.delay = target_port, 0, 0.0
        self._passable = asyncio.Event()
        self._passable.set()
        self._carrying: set[asyncio.Task[None]] = set()

    def be_silent(self) -> None:
        """Nothing passes; nobody is told."""
        self._passable.clear()

    def be_well(self) -> None:
        self.delay = 0.0
        self._passable.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        with suppress(OSError, asyncio.CancelledError):
            await self._join(reader, writer)
        writer.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        both = ((reader, far_writer), (far_reader, writer))
        pumps = [asyncio.create_task(self._pump(*each)) for each in both]
        try:
            # Whoever hangs up hangs up on both.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            far_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipe: Pipe = asyncio.Queue(MOST_CHUNKS)
        delivering = asyncio.create_task(self._deliver(pipe, writer))
        try:
            while data := await reader.read(CHUNK):
                await pipe.put((asyncio.get_running_loop().time() + self.delay, data))
            await pipe.put((0.0, b""))
            await delivering
        finally:
            delivering.cancel()

    async def _deliver(self, pipe: Pipe, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await pipe.get()
            await self._passable.wait()
            if not data:
                return
            if (early := due - loop.time()) > 0:
                await asyncio.sleep(early)
            writer.write(data)
            await writer.drain()

    async def close(self) -> None:
        for task in list(self._carrying):
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)


@asynccontextmanager
async def line_to(port: int) -> AsyncIterator[Line]:
    line = Line(port)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        await line.close()
