"""The group committer: what is waiting to be written becomes a few statements and one commit.

Callers hand over writes and await them; whoever awaits is told once the transaction that holds the write is
committed, never before. While one batch commits the next one gathers, so a lone write goes at once and a
thousand go together. The rules, and why they are so, are in `docs/group-commit.md`.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import IntFlag, auto
from typing import Generic, NamedTuple, Never, Protocol, TypeAlias, TypeVar, cast

from sqlalchemy import Connection

from muster.store.database import CommitUnknown, Database, Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")
ItemIn = TypeVar("ItemIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)


class Locks(IntFlag):
    """What a transaction locks, in the order in which everybody does (`store/lock_order.py`)."""

    NOTHING = 0
    KEYS = auto()  # of starts
    ROWS = auto()  # of executions, and what goes with them
    HEADS = auto()  # of the bus's partitions: where the next message is to be put

    def may_follow(self, held: "Locks") -> bool:
        """Whether these may be locked where those are held."""
        first = self & -self
        return not self or first > held


class Kind(Protocol[ItemIn, ResultOut]):
    """One kind of write, done for many items at once. Hashable: writes of equal kinds share statements."""

    @property
    def key_may_repeat(self) -> bool:
        """Whether two items of one key may go into the same call of `write`, in their order.

        True for inserts of different rows; False where a statement would take only one of the two, as an
        update of the same row does.
        """
        ...

    @property
    def locks(self) -> Locks:
        """Which rows `write` waits for that others may be changing. It does so in the order that everybody
        keeps, so in one transaction nothing may follow that locks what comes at the same place or before."""
        ...

    @property
    def is_single_statement(self) -> bool:
        """Whether `write` runs one statement at most, however many items it gets; where some need more, it
        says so first (`needs_transaction`)."""
        ...

    def write(self, connection: Connection, items: Sequence[ItemIn]) -> Sequence[ResultOut]:
        """Write all items, and answer one result for each, in their order.

        It runs in a transaction with other kinds' writes, and may run again with fewer items after that
        transaction was rolled back: so it changes nothing but the database.
        """
        ...


class Effective:
    """A result with something left to do in this process once it is committed, before anybody hears of it,
    and before what was submitted later is written. What is rolled back never does it."""

    __slots__ = ()

    def take_effect(self) -> None:
        raise NotImplementedError


AnyKind: TypeAlias = Kind[Never, object]
Observe: TypeAlias = Callable[[int, float], None]


class EarlierWriteFailed(Exception):
    """Not written, because a write of the same key that was submitted before it did not succeed.

    `__cause__` is what happened to that one.
    """

    def __init__(self, key: Hashable) -> None:
        super().__init__(f"an earlier write of {key!r} was not written, so this one was not either")
        self.key = key


# What says that a write may not be there, through no fault of its own.
TROUBLE = (Unavailable, CommitUnknown, EarlierWriteFailed)


class CommitterClosed(Exception):
    """A write was submitted after `close`."""


class Planned(Protocol):
    """What planning needs to know of a write."""

    @property
    def kind(self) -> AnyKind: ...
    @property
    def key(self) -> Hashable: ...


PlannedWrite = TypeVar("PlannedWrite", bound=Planned)


class Plan(NamedTuple, Generic[PlannedWrite]):
    """Statements in the order to run them, each of one kind, and the writes that found no place."""

    statements: list[list[PlannedWrite]]
    later: list[PlannedWrite]


def plan(writes: Iterable[PlannedWrite], most_statements: int | None = None) -> Plan[PlannedWrite]:
    """Arrange writes in statements so that every key's writes happen in the order given.

    Each write goes to the earliest statement of its kind that isn't before its key's previous write. One
    that would need a statement beyond `most_statements`, or locks what may not be locked so late, comes
    later, and so does all that follows it under its key.
    """
    statements: list[list[PlannedWrite]] = []
    later: list[PlannedWrite] = []
    of_kind: dict[AnyKind, list[int]] = {}
    previous: dict[Hashable, int] = {}
    postponed: set[Hashable] = set()
    held = Locks.NOTHING
    for write in writes:
        kind, key = write.kind, write.key
        if key in postponed:
            later.append(write)
            continue
        places = of_kind.setdefault(kind, [])
        earliest = previous.get(key, -1) + (not kind.key_may_repeat)
        if places and places[-1] >= earliest:
            place = places[bisect_left(places, earliest)]
        elif most_statements is not None and (
            len(statements) >= most_statements or not kind.locks.may_follow(held)
        ):
            postponed.add(key)
            later.append(write)
            continue
        else:
            place = len(statements)
            statements.append([])
            places.append(place)
            held |= kind.locks
        statements[place].append(write)
        previous[key] = place
    return Plan(statements, later)


class _Write(NamedTuple):
    kind: AnyKind
    item: object
    key: Hashable
    answer: "asyncio.Future[object]"


class GroupCommitter:
    """Writes for many callers in few commits.

    Writes of one key are written in the order they were submitted, and none is written if an earlier one of
    its key, undecided when this one was submitted, is not. A write fails alone: an error that one item causes
    reaches its caller only. `Unavailable` says that nothing was written, `CommitUnknown` that it may or may
    not have been; neither is retried here.

    `observe` is told the size of every batch and the seconds that it took.
    """

    def __init__(
        self,
        database: Database,
        *,
        max_batch: int = 5000,
        max_statements: int = 64,
        observe: Observe | None = None,
    ) -> None:
        self._database = database
        self._max_batch = max_batch
        self._max_statements = max_statements
        self._observe = observe
        self._waiting: list[_Write] = []
        self._in_flight: list[_Write] = []
        self._undecided: list[list[_Write]] = []  # halves of a refused batch, still to be written
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many writes have not been taken into a batch yet."""
        return len(self._waiting)

    def submit(self, kind: Kind[Item, Result], item: Item, key: Hashable) -> "asyncio.Future[Result]":
        """Hand over a write; once its result is there, it is durable.

        Nobody needs to await it, and who stops waiting does not undo it: it is written all the same, in its
        order. Raises `CommitterClosed` after `close`.
        """
        if self._closed:
            raise CommitterClosed("the committer is closed: nothing more can be written through it")
        hash((kind, key))  # what cannot be hashed fails here, where only its caller is hurt
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(kind, item, key, cast("asyncio.Future[object]", answer)))
        if self._running is None:
            # Its first step comes after all that is ready now, so whoever submits in this turn is with it.
            self._running = asyncio.create_task(self._write_all_that_waits(), name="group committer")
        return answer

    async def close(self) -> None:
        """Take no more writes, and return when all that were taken are decided."""
        self._closed = True
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _write_all_that_waits(self) -> None:
        try:
            while self._waiting:
                await self._write_batch()
                # Those who were told run first: what they submit now shares the next commit.
                await asyncio.sleep(0)
        except BaseException as stopped:
            self._abandon(stopped)
            raise
        finally:
            self._running = None

    async def _write_batch(self) -> None:
        """Write those who wait longest, and tell each what became of its write."""
        loop = asyncio.get_running_loop()
        first, rest = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
        statements, later = plan(first, self._max_statements)
        self._waiting = later + rest
        started = loop.time()
        await self._decide(statements)
        while self._undecided:
            await self._decide(plan(self._undecided.pop(0)).statements)
        if self._observe is not None:
            self._observe(len(first) - len(later), loop.time() - started)

    async def _decide(self, statements: list[list[_Write]]) -> None:
        # Statement by statement, every key's writes are still in their order.
        writes = self._in_flight = [write for statement in statements for write in statement]
        try:
            results = await self._commit(statements)
        except Unavailable as trouble:
            rest, self._undecided = [write for half in self._undecided for write in half], []
            self._fail(writes + rest, trouble)
        except CommitUnknown as trouble:
            self._fail(writes, trouble)
        except Exception as refused:
            self._blame(writes, refused)
        else:
            for write, result in zip(writes, results, strict=True):
                if isinstance(result, Effective):
                    result.take_effect()
                if not write.answer.done():  # done already: its caller has stopped waiting
                    write.answer.set_result(result)
        self._in_flight = []

    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        def work(connection: Connection) -> list[object]:
            return [result for statement in statements for result in _execute(connection, statement)]

        single = len(statements) == 1 and statements[0][0].kind.is_single_statement
        return await self._database.write(work, single=single)

    def _blame(self, writes: list[_Write], refused: Exception) -> None:
        """The database refused these, and wrote none of them: a lone one is to blame, of more each half is
        written by itself."""
        if len(writes) == 1:
            self._fail(writes, refused)
        else:
            middle = len(writes) // 2
            self._undecided[:0] = [writes[:middle], writes[middle:]]

    def _fail(self, writes: list[_Write], error: Exception) -> None:
        """Tell these the error and, at the same moment, all that were submitted after them under their keys:
        written all the same, they would overtake."""
        keys = {write.key for write in writes}
        _refuse(writes, error)
        self._waiting = _spared(self._waiting, keys, error)
        halves = [_spared(half, keys, error) for half in self._undecided]
        self._undecided = [half for half in halves if half]

    def _abandon(self, stopped: BaseException) -> None:
        """The task that writes has ended (cancelled, or by a mistake): nobody is left to wait for nothing."""
        unknown = CommitUnknown("the committer stopped while this was being written")
        unwritten = Unavailable("the committer stopped before this was written")
        unknown.__cause__ = unwritten.__cause__ = stopped
        _refuse(self._in_flight, unknown)
        _refuse([write for half in self._undecided for write in half] + self._waiting, unwritten)
        self._in_flight, self._undecided, self._waiting = [], [], []


def _execute(connection: Connection, statement: list[_Write]) -> Sequence[object]:
    kind = statement[0].kind
    # `submit` saw to it that these items are of this kind's type.
    items = cast("Sequence[Never]", [write.item for write in statement])
    results = kind.write(connection, items)
    if len(results) != len(statement):
        raise ValueError(f"{kind!r} answered {len(results)} results for {len(statement)} items")
    return results


def _refuse(writes: Iterable[_Write], error: Exception) -> None:
    for write in writes:
        if not write.answer.done():
            write.answer.set_exception(error)


def _spared(writes: list[_Write], keys: set[Hashable], error: Exception) -> list[_Write]:
    """Those of other keys, once the writes of these keys are told that an earlier one failed."""
    for write in writes:
        if write.key in keys:
            earlier = EarlierWriteFailed(write.key)
            earlier.__cause__ = error
            _refuse([write], earlier)
    return [write for write in writes if write.key not in keys]
