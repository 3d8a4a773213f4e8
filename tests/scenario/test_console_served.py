"""How the console is served: its page at every address, its files packed and kept, and nothing else."""

import gzip
from pathlib import Path

import httpx
import pytest

from muster.api.pages.console import Console

SCRIPT = b"console.log('here')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text('<meta content="{{settings}}" data-nonce="{{nonce}}">')
    (tmp_path / "assets" / "index-1.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "index-1.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "assets" / "notes.txt").write_text("not for browsers")
    return tmp_path


def test_its_page_carries_a_nonce_of_its_own_and_text_cannot_leave_its_place(folder: Path) -> None:
    console = Console(folder, issuer='https://id.example.org/"><script>', client_id="console")
    first, policy = console.page("1.0")
    second, _ = console.page("1.0")
    assert first != second
    assert "<script>" not in first
    nonce = first.partition('data-nonce="')[2].partition('"')[0]
    assert f"'nonce-{nonce}'" in policy
    assert "unsafe" not in policy


def test_it_connects_to_itself_and_to_the_issuer_only(folder: Path) -> None:
    assert "connect-src 'self';" in Console(folder).page("1.0")[1]
    policy = Console(folder, issuer="https://id.example.org/realm").page("1.0")[1]
    assert "connect-src 'self' https://id.example.org;" in policy


def test_files_are_packed_as_the_browser_takes_them(folder: Path) -> None:
    console = Console(folder)
    packed = console.asset("index-1.js", "br, gzip")
    plain = console.asset("index-1.js", "")
    assert packed is not None
    assert plain is not None
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body == SCRIPT
    assert plain.headers["Content-Type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "name", ["nope.js", "notes.txt", "..", "../index.html", "index-1.js.gz", ".js", "a/b.js"]
)
def test_nothing_else_is_given(folder: Path, name: str) -> None:
    assert Console(folder).asset(name, "gzip") is None


def test_where_it_is_not_built_that_is_said(tmp_path: Path) -> None:
    assert not Console(tmp_path).is_built


async def test_who_calls_is_told_who_they_are(client: httpx.AsyncClient) -> None:
    told = (await client.get("/api/me")).json()
    assert told["how"] == "loopback"
    assert "admin" in told["may"]
