"""`muster ingest`: events from a file of lines, by way of a server; whoever stops it goes on where it was."""

import contextlib
import hashlib
import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import orjson
import typer

from muster.app.cli.jsonl import lines
from muster.app.cli.output import FAILED, AsJson, Stop, print_json, stop
from muster.app.cli.server import Server, Token, check_answer, connected

if TYPE_CHECKING:
    import httpx

MOST_EVENTS, MOST_BYTES = 1_000, 900_000
# Requests: as many as a server commits at a time.
AT_ONCE = 2
MOST_TOLD = 20
NAMED_BY = 65_536
LATER = (429, 503)
REFUSED = (400, 413)
TRIES = 30
# The number of a line, and what became of its event.
Result = tuple[int, dict[str, Any]]


@dataclass(slots=True)
class Sent:
    """How far a file was sent: up to this byte, and so many lines."""

    offset: int = 0
    line: int = 0
    taken: int = 0
    duplicates: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Part:
    """Events that go in one request, as they are written, with the numbers of their lines."""

    lines: list[int] = field(default_factory=list)
    events: list[bytes] = field(default_factory=list)
    size: int = 0

    def has_room(self, event: bytes) -> bool:
        return len(self.events) < MOST_EVENTS and self.size + len(event) <= MOST_BYTES

    def halves(self) -> "tuple[Part, Part]":
        middle = len(self.events) // 2
        return (
            Part(self.lines[:middle], self.events[:middle]),
            Part(self.lines[middle:], self.events[middle:]),
        )

    def add(self, line: int, event: bytes) -> None:
        self.lines.append(line)
        self.events.append(event)
        self.size += len(event)


@dataclass(slots=True)
class Window:
    """What is sent at once: the events of a key are in one part, so they keep their order. `offset` and
    `line` are where the next one begins."""

    parts: list[Part] = field(default_factory=lambda: [Part() for _ in range(AT_ONCE)])
    offset: int = 0
    line: int = 0


def ingest(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Events, a JSON object a line.")],
    again: Annotated[bool, typer.Option("--again", help="From the beginning, wherever it was.")] = False,
    server: Server = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Send the events of a file to a running Muster. Stopped, it goes on there the next time; what was sent
    twice counts once."""
    try:
        with file.open("rb") as source, connected(server, token) as client:
            name = hashlib.sha256(source.read(NAMED_BY)).hexdigest()[:16]
            place = file.with_name(f".{file.name}.sent")
            sent = Sent() if again else _where(place, name, file.stat().st_size)
            source.seek(sent.offset)
            with _shown(file.stat().st_size, not as_json) as show:
                for window in _sent(client, _windows(source, sent, name), sent):
                    sent.offset, sent.line = window.offset, window.line
                    place.write_text(json.dumps({"name": name, "offset": sent.offset, "line": sent.line}))
                    show(sent)
            place.unlink(missing_ok=True)
    except OSError as error:
        stop(f"{file} cannot be read: {error.strerror}.")
    _tell(sent, as_json)


def _where(place: Path, name: str, size: int) -> Sent:
    """Where it was left, if it is the same file still."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(place.read_text())
        if kept["name"] == name and 0 <= kept["offset"] <= size:
            return Sent(int(kept["offset"]), int(kept["line"]))
    return Sent()


def _windows(source: BinaryIO, sent: Sent, name: str) -> Iterator[Window]:
    window, line = Window(), sent.line
    window.offset, window.line = sent.offset, sent.line
    for raw in lines(source):
        line += 1
        if raw is None or raw.strip():
            event, key = _event(raw, sent, line, f"{name}-{line}")
            if event:
                way = zlib.crc32(key) % AT_ONCE
                if not window.parts[way].has_room(event):
                    yield window
                    window = Window()
                window.parts[way].add(line, event)
        window.offset, window.line = source.tell(), line
    yield window


def _event(raw: bytes | None, sent: Sent, line: int, name: str) -> tuple[bytes, bytes]:
    """What a line holds, and its key; nothing, if it cannot be sent. One without an id is named by its place,
    so that it is known if it is sent again."""
    try:
        event = None if raw is None else orjson.loads(raw)
    except ValueError:
        event = None
    if raw is None or not isinstance(event, dict):
        _reject(sent, line, "this is no JSON object")
        return b"", b""
    key = str(event.get("correlationKey")).encode()
    return (raw if event.get("eventId") else _named(raw, event, name)), key


def _named(raw: bytes, event: dict[str, object], name: str) -> bytes:
    """Otherwise as it is written: a number may be larger than it could be read here."""
    if "eventId" in event or not event:
        return orjson.dumps({**event, "eventId": name})
    return b'{"eventId":"%s",%s' % (name.encode(), raw.lstrip()[1:])


def _reject(sent: Sent, line: int, reason: str) -> None:
    sent.rejected += 1
    if len(sent.problems) < MOST_TOLD:
        sent.problems.append(f"line {line}: {reason}")


def _sent(client: "httpx.Client", windows: Iterator[Window], sent: Sent) -> Iterator[Window]:
    """Send window after window; while one is under way the next is read."""
    with ThreadPoolExecutor(AT_ONCE) as senders:
        last: tuple[Window, list[Future[list[Result]]]] | None = None
        for window in windows:
            if last is not None:
                yield _settled(*last, sent)
            last = window, [senders.submit(_post, client, part) for part in window.parts if part.events]
        if last is not None:
            yield _settled(*last, sent)


def _settled(window: Window, posted: "list[Future[list[Result]]]", sent: Sent) -> Window:
    for results in posted:
        for line, result in results.result():
            if "error" in result:
                _reject(sent, line, result["error"]["detail"])
            elif result["duplicate"]:
                sent.duplicates += 1
            else:
                sent.taken += 1
    return window


def _post(client: "httpx.Client", part: Part) -> "list[Result]":
    """What becomes of each event. Where a list is refused as a whole for what one of them holds, that one is
    found by halves; they go one after the other, so that the events of a key keep their order."""
    answer = _answer(client, part)
    if answer.status_code in REFUSED:
        if len(part.events) > 1:
            return [each for half in part.halves() for each in _post(client, half)]
        return [(part.lines[0], {"error": orjson.loads(answer.content)})]
    check_answer(answer)
    return list(zip(part.lines, orjson.loads(answer.content)["results"], strict=True))


def _answer(client: "httpx.Client", part: Part) -> "httpx.Response":
    body, headers = b"[%s]" % b",".join(part.events), {"Content-Type": "application/json"}
    for attempt in range(TRIES):
        answer = client.post("/ingest", content=body, headers=headers)
        if answer.status_code not in LATER or attempt == TRIES - 1:
            break
        time.sleep(min(float(answer.headers.get("Retry-After", 1)), 10.0))
    return answer


@contextlib.contextmanager
def _shown(size: int, wanted: bool) -> Iterator[Callable[[Sent], None]]:
    """A bar with the rate, for a person who looks."""
    if not wanted or not sys.stderr.isatty():
        yield lambda sent: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    began = time.monotonic()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=size)

        def show(sent: Sent) -> None:
            rate = (sent.taken + sent.duplicates) / max(time.monotonic() - began, 0.001)
            told = f"{sent.line:,} lines, {rate:,.0f} events/s"
            progress.update(task, completed=sent.offset, description=told)

        yield show


def _tell(sent: Sent, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "taken": sent.taken,
                "duplicates": sent.duplicates,
                "rejected": sent.rejected,
                "lines": sent.line,
            }
        )
    else:
        typer.echo(f"{sent.taken:,} taken, {sent.duplicates:,} were there, {sent.rejected:,} rejected")
    for problem in sent.problems:
        typer.echo(problem, err=True)
    if sent.rejected:
        raise Stop("", FAILED)
