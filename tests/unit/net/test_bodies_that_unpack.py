"""What arrives packed is unpacked as far as the limit."""

import gzip
import zlib

import pytest

from muster.net.decode import BadEncoding, Body, TooLarge

TEXT = b"all that glitters " * 100


def unpacked(encoding: str, data: bytes, limit: int = 10_000, step: int = 7) -> bytes:
    body = Body(encoding, limit)
    for start in range(0, len(data), step):
        body.add(data[start : start + step])
    return body.whole()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT))),
    ],
    ids=["nothing", "identity", "gzip", "x-gzip", "zlib", "raw deflate", "both"],  # gzip holds the time
)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_every_packing_that_we_ask_for_is_unpacked(encoding: str, packed: bytes, step: int) -> None:
    assert unpacked(encoding, packed, step=step) == TEXT


@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_is_refused_before_it_has_gone_off(layers: int) -> None:
    bomb, encoding = bytes(50_000_000), ", ".join(["gzip"] * layers)
    for _ in range(layers):
        bomb = gzip.compress(bomb)
    body = Body(encoding, 1_000_000)
    with pytest.raises(TooLarge):
        body.add(bomb)
    assert body._size <= 1_000_000 + 64 * 1024, "no more than one piece beyond the limit was ever held"


def test_a_body_of_exactly_the_limit_is_taken() -> None:
    assert unpacked("", bytes(100), limit=100) == bytes(100)
    with pytest.raises(TooLarge):
        unpacked("", bytes(101), limit=100)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip, gzip", "compress"])
def test_a_packing_that_we_did_not_ask_for_is_refused(encoding: str) -> None:
    with pytest.raises(BadEncoding):
        Body(encoding, 100)


@pytest.mark.parametrize(("encoding", "data"), [("gzip", b"plain text"), ("deflate", b"\xff\xff\xff")])
def test_what_is_not_packed_as_it_says_is_refused(encoding: str, data: bytes) -> None:
    with pytest.raises(BadEncoding):
        unpacked(encoding, data)


def test_what_ends_too_soon_is_refused() -> None:
    with pytest.raises(BadEncoding):
        unpacked("gzip", gzip.compress(TEXT)[:-9])


def test_nothing_needs_no_unpacking() -> None:
    assert unpacked("gzip", b"") == b""
