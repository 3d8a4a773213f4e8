"""What pages tell to type is typed here, in its order, and comes to what they show: on a real server that
`make run` has started, and on real databases where a page is about those."""

import json
import os
import re
import signal
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from muster.app.serve import welcome
from muster.app.settings import Settings
from ports import free_port
from servers import MUSTER, Server
from shown_blocks import ROOT, Block, block, blocks
from terminal import Terminal, Typed, beside_the_repository, typed
from unrun_blocks import is_left_out
from walked_pages import WALKS, Walk

SERVICES = {"postgres": "POSTGRES", "mariadb": "MARIADB"}


class MadeToRun(Server):
    """As pages start it. The console is built beside it by whoever wants it; here nobody does."""

    def command(self, *more: str) -> list[str]:
        return ["make", "--no-print-directory", "-C", str(ROOT), "run", "MAKE=true", *more]

    def environment(self) -> dict[str, str]:
        own = {"MUSTER_PORT": str(self.port), "MUSTER_DATA_DIR": str(self.folder)}
        return super().environment() | own

    def clean_up(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.end(signal.SIGTERM)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    folder.mkdir()
    server = MadeToRun(folder)
    try:
        server.start()
        yield server
    finally:
        server.clean_up()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For pages that do not mind what others have done."""
    with running(tmp_path_factory.mktemp("shared") / "data") as server:
        yield server


def steps(page: str, folder: Path) -> Iterator[Typed]:
    """All that is to be typed, with what is shown of its answer."""
    here = [each for each in blocks(page) if not is_left_out(each)]
    for number, each in enumerate(here):
        after = here[number + 1] if number + 1 < len(here) else None
        yield from _steps(each, after.text if after is not None and after.is_answer else "", folder)


def _steps(each: Block, shown: str, folder: Path) -> Iterator[Typed]:
    file = f"block-{each.number}.{each.language}"
    match each.language:
        case "sh":
            yield Typed(each.text, shown)
        case "console":
            yield from typed(each.text)
        case "python":
            (folder / "block.py").write_text(each.text)
            program = "pytest -q -p no:cacheprovider" if "def test_" in each.text else "python"
            yield Typed(f"{program} block.py", shown)
        case "sql":
            yield Typed(f"psql -v ON_ERROR_STOP=1 <<'{file}'\n{each.text}\n{file}\n", shown)


def put_instead(step: Typed, instead: Mapping[str, str]) -> Typed:
    text = step.text
    for written, own in instead.items():
        text = text.replace(written, own)
    return replace(step, text=text)


def here(step: Typed, name: str, ports: Mapping[str, int]) -> Typed:
    """With names and ports that nobody else has."""
    text, shown = step.text.replace("muster-NAME", f"muster-{name}"), step.shown
    for port, free in ports.items():
        text, shown = (re.sub(rf"(:|--port ){port}\b", rf"\g<1>{free}", each) for each in (text, shown))
    return replace(step, text=text, shown=shown)


def services_of(walk: Walk, request: pytest.FixtureRequest, folder: Path) -> dict[str, str]:
    """Where they are, as their own programs want to be told."""
    found = {}
    for service in walk.services:
        url = urlsplit(request.getfixturevalue(f"{service}_url"))
        place = f"{url.scheme}://{url.netloc}"
        found[SERVICES[service]] = place
        if service == "postgres":
            found |= {"PGHOST": str(url.hostname), "PGPORT": str(url.port), "PGUSER": str(url.username)}
        else:
            (folder / ".my.cnf").write_text(
                f"[client]\nhost={url.hostname}\nport={url.port}\nuser={url.username}\n"
            )
            found["HOME"] = str(folder)
    return found


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[getattr(pytest.mark, name) for name in walk.services], id=page)
        for page, walk in WALKS.items()
    ],
)
def test_what_a_page_tells_to_type_comes_to_what_it_shows(
    page: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    walk, folder = WALKS[page], tmp_path / "desk"
    folder.mkdir()
    beside_the_repository(folder, "examples", ".venv")
    if not walk.own:
        _walk(page, request.getfixturevalue("shared"), folder, request)
        return
    with running(tmp_path / "data") as server:
        _walk(page, server, folder, request)


def _walk(page: str, server: Server, folder: Path, request: pytest.FixtureRequest) -> None:
    walk, name = WALKS[page], uuid.uuid4().hex[:12]
    ports = {"8080": server.port, "8081": free_port(), "8082": free_port()}
    own = {"PATH": f"{MUSTER.parent}:{os.environ['PATH']}"} | services_of(walk, request, folder)
    terminal = Terminal(folder, server.environment() | own)
    try:
        shown = [put_instead(step, walk.instead) for step in steps(page, folder)]
        for step in (Typed(walk.before), *shown, Typed(walk.after)):
            terminal.type(here(step, name, ports))
    finally:
        terminal.close()


def test_what_is_shown_of_an_answer_has_to_come_in_its_order_and_nothing_else_between() -> None:
    whole = Typed("muster x", "first\n…\nlast", is_whole=True)
    assert whole.fits("first\nsecond\nlast")
    assert not whole.fits("last\nfirst")
    assert not Typed("muster x", "first\nlast", is_whole=True).fits("first\nsecond\nlast")
    assert Typed("curl", "b\nc").fits(json.dumps(["a", "b", "c"]))
    assert not Typed("curl", "c\nb").fits(json.dumps(["a", "b", "c"]))
    assert Typed("date", "at 2026-01-02T03:04:05Z", is_whole=True).fits("at 2026-07-08T09:10:11Z")


def test_the_transcript_begins_with_what_a_server_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/muster", "serve"])
    [started] = typed(block("docs/first-ten-minutes.md console 1").text)
    assert started.text == "make run"
    assert started.fits(welcome("http://127.0.0.1:8080", Settings()))
