"""A real HTTP server on loopback whose every byte a test can choose."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire. Header names are in lower case."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    peer: str

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


@dataclass(frozen=True)
class Reply:
    """What is answered. `hold` waits first; `cut` ends the connection after so many bytes of the body."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    hold: float = 0.0
    cut: int | None = None
    raw: bytes | None = None


Answer = Callable[[Asked], Reply | Awaitable[Reply]]


class Site:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self.at_once = self.most_at_once = 0
        self.port = 0
        self.scheme = "http"
        self.serving: set[asyncio.Task[None]] = set()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            while (asked := await _read(reader, writer)) is not None:
                self.asked.append(asked)
                if not await self._reply(asked, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            return  # cancelled only when the server ends
        finally:
            self.serving.discard(task)
            writer.close()

    async def _reply(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            made = self.answer(asked)
            reply = made if isinstance(made, Reply) else await made
            await asyncio.sleep(reply.hold)
        finally:
            self.at_once -= 1
        if reply.raw is not None:
            writer.write(reply.raw)
            await writer.drain()
            return False
        headers = {"Content-Length": str(len(reply.body)), **reply.headers}
        head = f"HTTP/1.1 {reply.status} x\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        body = b"" if asked.method == "HEAD" else reply.body[: reply.cut]
        writer.write(head.encode("latin-1") + b"\r\n" + body)
        await writer.drain()
        return reply.cut is None


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    peer = writer.get_extra_info("peername")[0]
    return Asked(method, target, headers, await reader.readexactly(length), peer)


@asynccontextmanager
async def site(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """A server that is up while the block runs."""
    made = Site(answer)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    made.scheme = "https" if tls else "http"
    try:
        yield made
    finally:
        server.close()
        for task in list(made.serving):
            task.cancel()
        await asyncio.gather(*made.serving)
        await server.wait_closed()
