"""Large values, kept once beside their execution.

A JSON column is encoded once, here. What is small goes as it is. In what is large, the values that make it so
are put into `large_value`, under their digest, and the row's column `aside` lists the places where they were:
so nothing that a user writes can be taken for one. Containers (a context, the outputs) stay where they are,
only what is in them goes aside. The engine's own bookkeeping stays, however large: whoever takes an execution
up reads all of it at once.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlalchemy import Connection, exists, literal, select

from muster.model.aside import LARGE, Aside, with_asides
from muster.model.json import Json
from muster.store.dialect import insert_new
from muster.store.tables import large_value
from muster.store.types import JsonText, json_text, quick_text

V = large_value.c
PART = 512 * 1024
KEY = ("execution_id", "sha256", "part")
LONGEST_NUMBER = 330  # a float that is spelled out
PLAIN = frozenset((int, float, bool, type(None)))
Place = tuple[str, ...]
# What stays even if it is large: it is made of values, and is none itself.
OF_EXECUTIONS = frozenset[Place](
    {("context",), ("state",), ("state", "outputs"), ("state", "answers"), ("output",)}
)
OF_JOURNAL = frozenset[Place]({("changes",)})
OF_SIGNALS = frozenset[Place]({("payload",), ("payload", "answer")})


class Laying:
    """Encodes the JSON of rows, and gathers what goes aside from them. `containers` stay."""

    def __init__(self, containers: frozenset[Place]) -> None:
        self._containers = containers
        self._values: dict[tuple[str, str], bytes] = {}
        # What was encoded last, if it is small: what is kept several times is encoded once.
        self._last: tuple[Json, JsonText] | None = None

    def row(
        self, execution_id: str, row: dict[str, object], columns: Mapping[str, Json]
    ) -> dict[str, object]:
        """The row with these columns, and with the places of what is aside."""
        places: list[Place] = []
        for name, value in columns.items():
            if value is None:
                row[name] = None
            elif self._last is not None and value is self._last[0]:
                row[name] = self._last[1]
            else:
                text = row[name] = self._text(execution_id, value, (name,), places)
                self._last = (value, text) if len(text) <= LARGE and not places else None
        row["aside"] = [list(place) for place in places] if places else None
        return row

    @property
    def has_values(self) -> bool:
        return bool(self._values)

    def write(self, connection: Connection, executions: Collection[str] | None = None) -> None:
        """Put aside what is not there yet, once the executions' rows are there; only what is of these
        executions, if they are given."""
        parts = [
            part
            for (execution, sha256), value in self._values.items()
            if executions is None or execution in executions
            for part in _parts(execution, sha256, value)
        ]
        insert_new(connection, large_value, parts, KEY)

    def _text(self, execution_id: str, value: Json, place: Place, places: list[Place]) -> JsonText:
        quick = quick_text(value)
        if quick is not None:
            return JsonText(quick)
        if not is_surely_small(value):
            value = self._lighter(execution_id, value, place, places)
        return JsonText(json_text(value))

    def _lighter(self, execution_id: str, value: Json, place: Place, places: list[Place]) -> Json:
        """The value without what is large in it. Of an object its large members go, or else all of it: so
        what is an output's member and a variable too is kept once. Members first: whatever is in them, no
        text is made of it for every level above it."""
        if isinstance(value, Aside):
            places.append(place)
            return value
        if self._is_bookkeeping(place):
            return value
        if isinstance(value, dict):
            before = len(places)
            lighter: dict[str, Json] = {
                name: member
                if type(member) in PLAIN or is_surely_small(member)
                else self._lighter(execution_id, member, (*place, name), places)
                for name, member in value.items()
            }
            if place in self._containers or len(places) > before:
                return lighter
        text = json_text(value)
        return self._aside(execution_id, text, place, places) if _is_large(text) else value

    def _is_bookkeeping(self, place: Place) -> bool:
        return len(place) == 2 and place[0] == "state" and place not in self._containers

    def _aside(self, execution_id: str, text: str, place: Place, places: list[Place]) -> Aside:
        data = text.encode()
        digest = hashlib.sha256(data).hexdigest()
        self._values[execution_id, digest] = data
        places.append(place)
        return Aside(digest, len(data))


def is_surely_small(value: Json) -> bool:
    """Whether nothing of it goes aside, or is there already, by a bound that is quickly had: an object may
    have very many members, and each encoded by itself takes far longer than all of them at once."""
    left, waiting = LARGE, [value]
    while waiting and left >= 0:
        part = waiting.pop()
        if isinstance(part, str):
            left -= 6 * len(part) + 3
        elif isinstance(part, Aside):
            return False
        elif isinstance(part, dict | list):
            left -= 6 * sum(map(len, part)) + 4 * len(part) if isinstance(part, dict) else len(part)
            left -= 3
            waiting.extend(part.values() if isinstance(part, dict) else part)
        else:
            left -= LONGEST_NUMBER
    return left >= 0


def _is_large(text: str) -> bool:
    if len(text) > LARGE:
        return True
    return len(text) > LARGE // 4 and not text.isascii() and len(text.encode()) > LARGE


def _parts(execution_id: str, sha256: str, value: bytes) -> Iterator[dict[str, object]]:
    for number, start in enumerate(range(0, len(value), PART)):
        yield {
            "execution_id": execution_id,
            "sha256": sha256,
            "part": number,
            "size": len(value),
            "data": value[start : start + PART],
        }


def output_of(output: Json, aside: Sequence[Sequence[str]] | None) -> Json:
    """The output of a journal's row, with what stands for values in it."""
    places = [place for place in aside or () if place[0] == "output"]
    return with_asides({"output": output}, places)["output"]


def share_values(connection: Connection, child_id: str, parent_id: str, digests: Collection[str]) -> None:
    """Let an execution have values that are beside another. Its row is locked: nobody else adds to them."""
    if not digests:
        return
    theirs = large_value.alias()
    has_it = exists().where(theirs.c.execution_id == parent_id, theirs.c.sha256 == V.sha256)
    parts = select(literal(parent_id), V.sha256, V.part, V.size, V.data).where(
        V.execution_id == child_id, V.sha256.in_(sorted(digests)), ~has_it
    )
    columns = ["execution_id", "sha256", "part", "size", "data"]
    connection.execute(large_value.insert().from_select(columns, parts))


def read_values(connection: Connection, execution_id: str, digests: Collection[str]) -> dict[str, Json]:
    """Values that are aside, by their digests."""
    found: dict[str, Json] = {}
    for digest in digests:  # one at a time: each may be of megabytes
        parts = select(V.data).where(V.execution_id == execution_id, V.sha256 == digest).order_by(V.part)
        if data := b"".join(connection.scalars(parts)):
            found[digest] = json.loads(data)
    return found


def read_part(connection: Connection, execution_id: str, digest: str, part: int) -> bytes | None:
    """One part of a value as it is kept. None: there are no more, or there is none."""
    wanted = select(V.data).where(V.execution_id == execution_id, V.sha256 == digest, V.part == part)
    return connection.scalar(wanted)
