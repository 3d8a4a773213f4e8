"""Events of other systems, sent in batches that may be repeated."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from muster.client.requests import JSON, Call, Request, encoded
from muster.client.starting import new_id

MOST_EVENTS, MOST_BYTES = 1_000, 900_000


@dataclass(frozen=True, slots=True)
class NotTaken:
    """An event that was rejected: which one it is, counted from 0, and why."""

    place: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """How many events were taken in, how many were there already, and which were rejected."""

    taken: int = 0
    duplicates: int = 0
    rejected: tuple[NotTaken, ...] = ()

    def __add__(self, other: "Ingested") -> "Ingested":
        return Ingested(
            self.taken + other.taken,
            self.duplicates + other.duplicates,
            self.rejected + other.rejected,
        )


def batches(events: Iterable[Mapping[str, Any]]) -> Iterator[Call[Ingested]]:
    """A call for each batch that the server takes at once. An event without an `eventId` is given one: sent
    again, it is known."""
    written: list[bytes] = []
    size = place = 0
    for event in events:
        one = encoded(event if event.get("eventId") else {**event, "eventId": new_id()})
        if written and (len(written) == MOST_EVENTS or size + len(one) > MOST_BYTES):
            yield _batch(written, place - len(written))
            written, size = [], 0
        written.append(one)
        size += len(one) + 1
        place += 1
    if written:
        yield _batch(written, place - len(written))


def _batch(written: list[bytes], first: int) -> Call[Ingested]:
    content = b"[" + b",".join(written) + b"]"
    request = Request("POST", "/ingest", {}, {"Content-Type": JSON}, content, repeatable=True)
    return Call(request, partial(_read, first=first))


def _read(answer: Any, first: int) -> Ingested:
    results = answer["results"]
    rejected = tuple(
        NotTaken(first + place, each["error"]["code"], each["error"]["detail"])
        for place, each in enumerate(results)
        if "error" in each
    )
    duplicates = sum(1 for each in results if each.get("duplicate"))
    return Ingested(len(results) - len(rejected) - duplicates, duplicates, rejected)
