"""A line to a server that goes wrong when it is told to: answers get lost, or somebody between says no."""

import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from polling import PATIENCE

# Hung up on, not closed: the other side gets a reset.
RESET = struct.pack("ii", 1, 0)


@dataclass
class BadLine:
    """`loses`: so many answers are lost after the server has given them. `refuses`: so many requests never
    get there, and are answered with this status and these headers."""

    port: int = 0
    loses: int = 0
    refuses: int = 0
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def bad_line(server_port: int) -> Iterator[BadLine]:
    line = BadLine()

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        drop: ClassVar = frozenset({"connection", "transfer-encoding", "content-length", "date", "server"})

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            line.keys.append(self.headers.get("Idempotency-Key"))
            line.paths.append(self.path)
            if line.refuses:
                line.refuses -= 1
                self._answer(line.status, line.headers, b'{"detail": "Not now."}')
                return
            upstream = http.client.HTTPConnection("127.0.0.1", server_port, timeout=PATIENCE)
            upstream.request(self.command, self.path, body or None, dict(self.headers.items()))
            given = upstream.getresponse()
            content = given.read()
            upstream.close()
            if line.loses:
                line.loses -= 1
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                self.connection.close()
                self.close_connection = True
                return
            kept = {name: value for name, value in given.getheaders() if name.lower() not in self.drop}
            self._answer(given.status, kept, content)

        do_POST = do_GET

        def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def finish(self) -> None:
            if not self.connection._closed:  # type: ignore[attr-defined]  # hung up on above
                super().finish()

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Between)
    listening.daemon_threads = True
    line.port = listening.server_address[1]
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield line
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join(PATIENCE)
