"""An answer's head and its body in one packet.

The server writes them one after the other, each a call to the kernel and a packet that wakes the caller; most
bodies are there when their head is, so the head waits for them.
"""

import asyncio
from typing import Any


class Corked:
    """A connection that holds back the head of an answer until more is written, or until whatever is ready
    now has run: what comes in its own time, as events do, is not waited for. All else is the transport's."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._transport.writelines((head, data))
        elif data.endswith(b"\r\n\r\n") and data.startswith(b"HTTP/"):
            self._head = data
            self._loop.call_soon(self._release)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._release()
        self._transport.close()

    def _release(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._transport.write(head)

    def __getattr__(self, name: str) -> Any:  # whatever else the server asks of it
        return getattr(self._transport, name)
