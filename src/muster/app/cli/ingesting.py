"""`muster ingest`: events from a file of lines, by way of a server; whoever stops it goes on where it was."""

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from muster.app.cli.jsonl import lines
from muster.app.cli.output import FAILED, AsJson, Stop, print_json, stop
from muster.app.cli.server import Server, Token, check_answer, connected

if TYPE_CHECKING:
    import httpx

MOST_EVENTS, MOST_BYTES = 1_000, 900_000
MOST_TOLD = 20
NAMED_BY = 65_536
LATER = (429, 503)
TRIES = 30


@dataclass(slots=True)
class Sent:
    """How far a file was sent: up to this byte, and so many lines."""

    offset: int = 0
    line: int = 0
    taken: int = 0
    duplicates: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)


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
                for batch in _batches(source, sent, name):
                    _send(client, batch, sent)
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


def _batches(source: BinaryIO, sent: Sent, name: str) -> Iterator[list[tuple[int, object]]]:
    """Events with the numbers of their lines. With each batch, `sent` says where the next one begins."""
    batch: list[tuple[int, object]] = []
    size, line, offset = 0, sent.line, sent.offset
    for raw in lines(source):
        line += 1
        length = 0 if raw is None else len(raw)
        if batch and (len(batch) == MOST_EVENTS or size + length > MOST_BYTES):
            sent.offset, sent.line = offset, line - 1
            yield batch
            batch, size = [], 0
        offset = source.tell()
        if raw is None or raw.strip():
            batch.append((line, _event(raw, sent, line, f"{name}-{line}")))
            size += length
    sent.offset, sent.line = offset, line
    if batch:
        yield batch


def _event(raw: bytes | None, sent: Sent, line: int, name: str) -> object:
    """What a line holds; None: nothing that can be sent. One without an id is named by its place, so that it
    is known if it is sent again."""
    try:
        event = None if raw is None else json.loads(raw)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        _reject(sent, line, "this is no JSON object")
        return None
    return event if event.get("eventId") else {**event, "eventId": name}


def _reject(sent: Sent, line: int, reason: str) -> None:
    sent.rejected += 1
    if len(sent.problems) < MOST_TOLD:
        sent.problems.append(f"line {line}: {reason}")


def _send(client: "httpx.Client", batch: list[tuple[int, object]], sent: Sent) -> None:
    events = [(line, event) for line, event in batch if event is not None]
    if not events:
        return
    for attempt in range(TRIES):
        answer = client.post("/ingest", json=[event for _, event in events])
        if answer.status_code not in LATER or attempt == TRIES - 1:
            break
        time.sleep(min(float(answer.headers.get("Retry-After", 1)), 10.0))
    check_answer(answer)
    for (line, _), result in zip(events, answer.json()["results"], strict=True):
        if "error" in result:
            _reject(sent, line, result["error"]["detail"])
        elif result["duplicate"]:
            sent.duplicates += 1
        else:
            sent.taken += 1


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
