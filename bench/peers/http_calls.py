"""Starting executions over HTTP, one request each, on a server in a process of its own."""

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1]


class Connection:
    """A kept connection that posts JSON and reads the answer: no more client than the server deserves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self._reader, self._writer, self._port = reader, writer, port

    async def post(self, path: str, document: object) -> tuple[int, object]:
        body = json.dumps(document).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.lower() for line in answer.split("\r\n")]
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
        return int(answer.split(" ", 2)[1]), json.loads(await self._reader.readexactly(length))


async def connect(port: int) -> Connection:
    return Connection(*await asyncio.open_connection("127.0.0.1", port), port)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def until_ready(port: int) -> None:
    for _ in range(1200):
        try:
            await connect(port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return
    sys.exit("the server did not start")


async def starting_over_http(url: str, seconds: float, in_flight: int, document: object) -> float:
    """Executions a second that were started, waited for and answered."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ) | {
            "DB_URL": url,
            "MUSTER_PLUGINS": "support.five_steps",
            "MUSTER_PORT": str(port),
            "MUSTER_DATA_DIR": folder,
            "MUSTER_API_RATE_LIMIT": "0",
            "PYTHONPATH": str(HERE),
        }
        silent = asyncio.subprocess.DEVNULL
        command = Path(sys.executable).with_name("muster")
        server = await asyncio.create_subprocess_exec(
            command, "serve", env=environment, stdout=silent, stderr=silent
        )
        try:
            await until_ready(port)
            status, _ = await (await connect(port)).post("/api/workflow", document)
            assert status == 201
            await _rate(port, 1, in_flight)
            return await _rate(port, seconds, in_flight)
        finally:
            server.terminate()
            await server.wait()


async def _rate(port: int, seconds: float, in_flight: int) -> float:
    connections = [await connect(port) for _ in range(in_flight)]
    started, done = time.perf_counter(), 0

    async def keep_going(connection: Connection) -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            wanted = {"key": "five-steps", "context": {"number": 0}}
            status, answer = await connection.post("/api/workflow/execute?wait=60", wanted)
            assert status == 200, answer
            done += 1

    await asyncio.gather(*(keep_going(connection) for connection in connections))
    return done / (time.perf_counter() - started)
