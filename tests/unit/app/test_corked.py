"""An answer's head goes with its body, and waits for nothing that is not there yet."""

import asyncio
from collections.abc import Iterable

from muster.app.corked import Corked

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Packets(asyncio.Transport):
    """Keeps what is sent, a packet for each call, and in between what else was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes | str] = []

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.sent.append(data)

    def writelines(self, list_of_data: Iterable[object]) -> None:
        self.sent.append(b"".join(data for data in list_of_data if isinstance(data, bytes)))

    def close(self) -> None:
        self.sent.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.sent


async def test_a_head_goes_with_the_body_that_follows_it() -> None:
    packets = Packets()
    corked = Corked(packets, asyncio.get_running_loop())
    corked.write(HEAD)
    corked.write(b"{}")
    corked.write(HEAD)
    corked.write(b"[]")
    await asyncio.sleep(0)
    assert packets.sent == [HEAD + b"{}", HEAD + b"[]"]


async def test_a_head_whose_body_takes_its_time_goes_before_it() -> None:
    packets = Packets()
    corked = Corked(packets, asyncio.get_running_loop())
    corked.write(HEAD)
    await asyncio.sleep(0)
    assert packets.sent == [HEAD]
    corked.write(b"data: 1\n\n")
    corked.write(b"data: 2\n\n")
    assert packets.sent == [HEAD, b"data: 1\n\n", b"data: 2\n\n"]


async def test_a_head_is_sent_before_the_connection_closes() -> None:
    packets = Packets()
    corked = Corked(packets, asyncio.get_running_loop())
    corked.write(HEAD)
    corked.close()
    assert packets.sent == [HEAD, "closed"]
    assert corked.is_closing()
