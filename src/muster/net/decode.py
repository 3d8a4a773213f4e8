"""Bodies as they arrive: unpacked as far as a limit, whatever they would grow to."""

import zlib
from collections.abc import Iterator

CHUNK = 64 * 1024
MOST_LAYERS = 2
GZIP, ZLIB, RAW = 31, 15, -15


class TooLarge(Exception):
    """The body is larger than the limit, as sent or unpacked."""


class BadEncoding(Exception):
    """The body is not packed in the way that its header says."""


class Body:
    """Gathers a body piece by piece. Raises `TooLarge` before it holds more than `limit` bytes."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._layers = [_Unpack(name) for name in reversed(_names(encoding))]
        self._limit, self._size = limit, 0
        self._pieces: list[bytes] = []

    def add(self, data: bytes) -> None:
        for piece in self._unpacked(data, self._layers):
            self._size += len(piece)
            if self._size > self._limit:
                raise TooLarge
            self._pieces.append(piece)

    def whole(self) -> bytes:
        """All of it. Raises `BadEncoding` if something that was packed ends too soon."""
        if self._size and not all(layer.is_finished for layer in self._layers):
            raise BadEncoding
        return b"".join(self._pieces)

    def _unpacked(self, data: bytes, layers: "list[_Unpack]") -> Iterator[bytes]:
        if not layers:
            yield data
            return
        for piece in layers[0].pieces(data):
            yield from self._unpacked(piece, layers[1:])


def _names(encoding: str) -> list[str]:
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > MOST_LAYERS or not all(name in ("gzip", "x-gzip", "deflate") for name in names):
        raise BadEncoding
    return names


class _Unpack:
    """One layer of packing, unpacked in pieces of a bounded size."""

    def __init__(self, name: str) -> None:
        self._start = b""
        self._stream = None if name == "deflate" else zlib.decompressobj(GZIP)

    @property
    def is_finished(self) -> bool:
        return self._stream is not None and self._stream.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._start += data
            if len(self._start) < 2:
                return
            data, self._stream = self._start, zlib.decompressobj(_frame(self._start))
        while data and not self._stream.eof:
            try:
                piece = self._stream.decompress(data, CHUNK)
            except zlib.error:
                raise BadEncoding from None
            data = self._stream.unconsumed_tail
            if piece:
                yield piece


def _frame(start: bytes) -> int:
    """`deflate` should have zlib's frame around it; some servers leave that out."""
    return ZLIB if start[0] & 15 == 8 and int.from_bytes(start[:2], "big") % 31 == 0 else RAW
