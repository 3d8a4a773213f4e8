"""The group committer under faults: who was told that a write is durable finds it, and nothing else is there.

Callers in a process that crashes and starts again submit writes of several kinds in bursts, some poisonous,
and at times stop waiting. A ledger outside the process keeps what was submitted and what each caller was
told; in the end it is compared with the rows of the table.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TypeAlias

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    select,
)

from muster.sim.database import Fault, FaultyDatabase, by_chance
from muster.sim.world import World
from muster.store.committer import EarlierWriteFailed, GroupCommitter, Locks
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.open import inline_database

LINES = Table(
    "line",
    MetaData(),
    Column("place", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
)

ODDS = {
    Fault.UNAVAILABLE: 0.05,
    Fault.COMMIT_LOST: 0.03,
    Fault.ANSWER_LOST: 0.03,
    Fault.CRASH_BEFORE: 0.02,
    Fault.CRASH_AFTER: 0.02,
}

# What anybody may be told, whatever it submitted.
EXPECTED = (Unavailable, CommitUnknown, EarlierWriteFailed)

LineRow: TypeAlias = tuple[str, int, str]
MakeCommitter: TypeAlias = Callable[[Database, int, int], GroupCommitter]


class StrangeItem(Exception):
    """What a kind raises on an item that it cannot make sense of."""


@dataclass(eq=False)
class Line:
    """A submitted write, and what its caller was told of it. None: nothing, or it stopped waiting."""

    key: str
    number: int
    kind: str
    poison: str | None
    undecided: "list[Line]"  # earlier ones of its key whose end nobody knew when it was submitted
    abandoned: bool  # whether the caller had stopped waiting for an earlier one, and cannot know its end
    answer: "asyncio.Future[int] | None" = None
    told: "int | BaseException | None" = None

    @property
    def decided(self) -> bool:
        return self.answer is not None and self.answer.done()

    def as_row(self) -> dict[str, object]:
        text = None if self.poison else "x"
        return {"key": self.key, "number": self.number, "kind": self.kind, "text": text}

    def __str__(self) -> str:
        return f"{self.key}.{self.number} ({self.kind})"


@dataclass
class Ledger:
    """What the callers know, kept where no crash reaches it."""

    lines: list[Line] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def of_key(self, key: str) -> list[Line]:
        return [line for line in self.lines if line.key == key]

    def of_life(self, life: int) -> list[Line]:
        return [line for line in self.lines if line.key.startswith(f"{life}-")]


@dataclass(frozen=True)
class WriteLines:
    """A kind of write: inserts lines, and answers their numbers."""

    name: str
    key_may_repeat: bool
    ledger: Ledger = field(compare=False)
    is_single_statement: bool = False
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[Line]) -> Sequence[int]:
        if not self.key_may_repeat and len({line.key for line in items}) < len(items):
            self.ledger.wrong.append(f"a statement of {self.name} has a key twice")
        if any(line.poison == "strange" for line in items):
            raise StrangeItem("an item makes no sense")
        rows = [
            {"key": i.key, "number": i.number, "kind": i.kind, "text": None if i.poison else "x"}
            for i in items
        ]
        connection.execute(insert(LINES), rows)
        return [line.number for line in items]


def simulate(world: World, make: MakeCommitter | None = None) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    ledger = Ledger()
    rows = world.run(partial(_lives, ledger=ledger, make=make or _make))
    return ledger.wrong + compare(ledger.lines, rows)


def _make(database: Database, max_batch: int, max_statements: int) -> GroupCommitter:
    return GroupCommitter(database, max_batch=max_batch, max_statements=max_statements)


async def _lives(world: World, ledger: Ledger, make: MakeCommitter) -> list[LineRow]:
    chance = world.chance("lives")
    survivor = inline_database(clock=world.clock)
    await survivor.write(LINES.create)
    database = FaultyDatabase(survivor, world, by_chance(world, "database", ODDS))
    for life in range(chance.randint(1, 3)):
        process = world.process(f"life-{life}")
        committer = make(database, chance.choice((1, 3, 8, 5000)), chance.choice((1, 2, 64)))
        process.start(_live(world, committer, ledger, life, chance))
        if chance.random() < 0.5:
            world.loop.call_later(chance.random() * 0.1, process.crash)
        if not await process.ended():
            ledger.wrong += [f"{line} was never decided" for line in ledger.of_life(life) if not line.decided]
    # What a crashed process had sent may still be on its way to the database.
    await asyncio.sleep(1)
    rows = await survivor.read(_rows)
    await survivor.close()
    return rows


def _rows(connection: Connection) -> list[LineRow]:
    in_order_of_writing = select(LINES.c.key, LINES.c.number, LINES.c.kind).order_by(LINES.c.place)
    return [(key, number, kind) for key, number, kind in connection.execute(in_order_of_writing)]


async def _live(world: World, committer: GroupCommitter, ledger: Ledger, life: int, chance: Random) -> None:
    kinds = [WriteLines("a", True, ledger), WriteLines("b", True, ledger), WriteLines("one", False, ledger)]
    callers = [
        _call(world, committer, ledger, kinds, f"{life}-{number}") for number in range(chance.randint(1, 6))
    ]
    await asyncio.gather(*callers)
    await committer.close()


async def _call(
    world: World, committer: GroupCommitter, ledger: Ledger, kinds: Sequence[WriteLines], key: str
) -> None:
    chance = world.chance(f"caller {key}")
    number = 0
    for _ in range(chance.randint(1, 4)):
        burst = []
        for _ in range(chance.choice((1, 1, 2, 5))):
            number += 1
            kind = chance.choice(kinds)
            poison = chance.choice(("null", "strange")) if chance.random() < 0.06 else None
            burst.append(_submit(world, committer, ledger, kind, key, number, poison))
            if chance.random() < 0.2:
                await asyncio.sleep(chance.random() * 0.01)
        if chance.random() < 0.1:
            chance.choice(burst).cancel()
        if chance.random() < 0.8:
            await asyncio.wait(burst)


def _submit(
    world: World,
    committer: GroupCommitter,
    ledger: Ledger,
    kind: WriteLines,
    key: str,
    number: int,
    poison: str | None,
) -> "asyncio.Future[int]":
    answers = [(line, line.answer) for line in ledger.of_key(key) if line.answer is not None]
    undecided = [line for line, answer in answers if not answer.done()]
    abandoned = any(answer.cancelled() for _, answer in answers)
    line = Line(key, number, kind.name, poison, undecided, abandoned)
    ledger.lines.append(line)
    world.note(key, f"submits {line}")
    line.answer = committer.submit(kind, line, key)
    line.answer.add_done_callback(partial(_hear, world, line))
    return line.answer


def _hear(world: World, line: Line, answer: "asyncio.Future[int]") -> None:
    if answer.cancelled():
        world.note(line.key, f"no longer waits for {line}")
        return
    error = answer.exception()
    line.told = answer.result() if error is None else error
    world.note(line.key, f"is told of {line}: {line.told if error is None else type(error).__name__}")


def compare(lines: Sequence[Line], found: list[LineRow]) -> list[str]:
    """What the rows contradict of what the callers were told."""
    wrong = [f"{row} is there {found.count(row)} times" for row in sorted(set(found)) if found.count(row) > 1]
    wrong += [f"{row} was submitted by nobody" for row in sorted(set(found) - {_row(line) for line in lines})]
    for key in sorted({line.key for line in lines}):
        numbers = [row[1] for row in found if row[0] == key]
        if numbers != sorted(numbers):
            wrong.append(f"the lines of {key} are in another order than submitted: {numbers}")
    there = set(found)
    return wrong + [f"{line} {fault}" for line in lines for fault in _faults(line, there)]


def _row(line: Line) -> LineRow:
    return line.key, line.number, line.kind


def _faults(line: Line, there: set[LineRow]) -> Iterator[str]:
    is_there = _row(line) in there
    if is_there and line.poison is not None:
        yield "is there and should have been refused"
    if is_there and any(_row(earlier) not in there for earlier in line.undecided):
        yield "overtook an earlier one"
    match line.told:
        case int(number) if not is_there or number != line.number:
            yield f"was told to be durable as {number}, and is {'' if is_there else 'not '}there"
        case Unavailable() | EarlierWriteFailed() as error if is_there:
            yield f"is there, though its caller was told {error!r}"
        case EarlierWriteFailed() if not line.abandoned and all(_went_well(e, there) for e in line.undecided):
            yield "was refused for an earlier write, and those are all there"
        case Exception() as error if line.poison is None and not isinstance(error, EXPECTED):
            yield f"was told another one's error: {error!r}"
        case _:
            pass


def _went_well(line: Line, there: set[LineRow]) -> bool:
    return isinstance(line.told, int) and _row(line) in there
