"""An effect for each item of a list: a few at a time, each journaled, in the memory of those few.

An item counts as done when its row is durable. Rows are written together, while the next effects run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from muster.engine.handlers import Done
from muster.engine.item_journal import Entry, ItemJournal
from muster.engine.items import Item
from muster.engine.journal import JournalRow
from muster.engine.state import Failure
from muster.engine.window import Window
from muster.expr.limits import weight
from muster.model.aside import LARGE
from muster.model.json import Json, JsonObject

KEPT = 1000
KEPT_TOGETHER = 8 * 1024 * 1024
DRAWN_IN_A_ROW = 100
RECALLED_AT_ONCE = 100


class OnItemError(StrEnum):
    """Do all and then fail, do all and go on, or stop at the first."""

    COLLECT = "collect"
    CONTINUE = "continue"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Options:
    """At most `concurrency` effects are under way, each for `together` items, and at most `batch` results
    wait for their commit.

    `keyed`: the author names the items, so two may have one name; the second is the same item, and passed
    over. `rest` is where what the summary leaves out is read.
    """

    on_error: OnItemError
    concurrency: int
    batch: int
    keyed: bool
    rest: str
    together: int = 1


class Result(NamedTuple):
    """What came of the item at this place of the list."""

    place: int
    row: JournalRow
    outcome: Done | Failure

    @property
    def entry(self) -> Entry:
        return Entry(self.row, self.outcome.opens if isinstance(self.outcome, Done) else ())


RunItems: TypeAlias = Callable[[Sequence[Item]], Awaitable[Sequence[tuple[JournalRow, Done | Failure]]]]


class Interrupted(Exception):
    """Somebody wants nothing more to begin. What is done is journaled; the rest is left for later."""


@dataclass(slots=True)
class Kept:
    """The results that a summary shows, by their places: of the first thousand items, as long as they fit
    into a context together."""

    room: int = KEPT_TOGETHER
    values: dict[int, Json] = field(default_factory=dict)

    def keep(self, place: int, output: Json) -> None:
        if place < KEPT and (size := weight(output, self.room)) <= self.room:
            self.room -= size
            self.values[place] = output


@dataclass(slots=True)
class Summary:
    """What came of the items. Of the first thousand the results are kept, and the first thousand failures;
    beyond that only counts: the journal has the rest. `unread` are those, by their places, whose results are
    taken from the journal: it was done before, or is large, and then the journal says where it is."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    kept: Kept = field(default_factory=Kept)
    errors: dict[int, Json] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)
    first: Failure | None = None
    retryable: bool = False
    unsure: bool = False

    def find(self, place: int, key: str) -> None:
        self.succeeded += 1
        if place < KEPT:
            self.unread[place] = key

    def succeed(self, place: int, key: str, output: Json) -> None:
        if weight(output, LARGE) > LARGE:
            self.find(place, key)
        else:
            self.succeeded += 1
            self.kept.keep(place, output)

    def fail(self, place: int, key: str, failure: Failure) -> None:
        self.failed += 1
        self.first = self.first or failure
        self.retryable = self.retryable or failure.retryable
        self.unsure = self.unsure or failure.unsure
        if len(self.errors) < KEPT:
            self.errors[place] = {"item": key, "type": failure.type, "message": failure.message}

    def document(self, rest: str) -> JsonObject:
        """In the order of the list. Where something is left out, `rest` says where to read it."""
        document: JsonObject = {
            "total": self.total,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "skipped": self.skipped,
            "results": [self.kept.values[place] for place in sorted(self.kept.values)],
            "errors": [self.errors[place] for place in sorted(self.errors)],
        }
        is_whole = len(self.kept.values) == self.succeeded and len(self.errors) == self.failed
        return document if is_whole else {**document, "rest": rest}


async def run_each(
    items: Iterator[Item],
    run: RunItems,
    journal: ItemJournal,
    options: Options,
    stops: Callable[[], bool] = lambda: False,
) -> tuple[Done | Failure, JsonObject]:
    """Run every item that is not done yet, and answer the outcome of the whole and its summary. Raises
    `Interrupted` once it `stops`, when what was under way is done."""
    work = _Work(items, run, journal, options, await journal.done(), await journal.failed(), stops)
    try:
        await work.do()
    except asyncio.CancelledError:
        # Its time is over. What happened has happened all the same.
        await work.leave()
        raise
    if work.interrupted:
        raise Interrupted
    summary = work.summary
    await _recall(summary, journal)
    document = summary.document(options.rest)
    return _outcome(summary, document, options.on_error), document


async def _recall(summary: Summary, journal: ItemJournal) -> None:
    """Take from the journal what is not at hand, some at a time: together they may not fit into memory."""
    unread = sorted(summary.unread.items())
    for start in range(0, len(unread), RECALLED_AT_ONCE):
        some = unread[start : start + RECALLED_AT_ONCE]
        outputs = await journal.outputs([key for _, key in some])
        for place, key in some:
            if key in outputs:
                summary.kept.keep(place, outputs[key])


class _Work:
    """A list being worked on: workers draw from one iterator, so each item goes to one of them."""

    def __init__(
        self,
        items: Iterator[Item],
        run: RunItems,
        journal: ItemJournal,
        options: Options,
        done: Set[str],
        failed: Mapping[str, Failure],
        stops: Callable[[], bool],
    ) -> None:
        self._places = enumerate(items)
        self._run, self._journal, self._options = run, journal, options
        self._done, self._failed = done, failed
        self._window = Window[Result](self._keep, options.batch)
        self._seen: set[str] = set()
        self._stopped, self._stops = False, stops
        self.interrupted = False
        self.summary = Summary()

    async def do(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._window.run())
                workers = [tasks.create_task(self._draw()) for _ in range(self._options.concurrency)]
                await asyncio.wait(workers)
                self._window.close()
        except ExceptionGroup as group:
            # An item's own trouble is an outcome. What is raised concerns all: the execution is another's.
            raise group.exceptions[0] from None

    async def leave(self) -> None:
        entries = [result.entry for result in self._window.unwritten]
        if entries:
            await self._journal.write_once(entries)

    async def _draw(self) -> None:
        drawn: list[tuple[int, Item]] = []
        for place, item in self._places:
            self.summary.total += 1
            if self._came_before(item):
                self.summary.skipped += 1
            elif item.key in self._done:
                self.summary.find(place, item.key)
            elif item.key in self._failed:
                self.summary.fail(place, item.key, self._failed[item.key])
            elif item.params is None and item.problem is None:
                self.summary.skipped += 1
            else:
                drawn.append((place, item))
            if len(drawn) == self._options.together:
                await self._do(drawn)
                drawn = []
            if self._stopped:
                return
            if self._stops():
                self.interrupted = True
                break
            if place % DRAWN_IN_A_ROW == 0:
                await asyncio.sleep(0)  # others are to have their turn, however many are done already
        if drawn:
            await self._do(drawn)

    def _came_before(self, item: Item) -> bool:
        if not self._options.keyed:
            return False
        before = len(self._seen)
        self._seen.add(item.key)
        return len(self._seen) == before

    async def _do(self, drawn: Sequence[tuple[int, Item]]) -> None:
        came = await self._run([item for _, item in drawn])
        for (place, _), (row, outcome) in zip(drawn, came, strict=True):
            if isinstance(outcome, Failure) and self._options.on_error is OnItemError.STOP:
                self._stopped = True
            await self._window.put(Result(place, row, outcome))

    async def _keep(self, results: list[Result]) -> None:
        refused = await self._journal.write([result.entry for result in results])
        for place, row, outcome in results:
            match refused.get(row.item_key, outcome):
                case Done(output=output):
                    self.summary.succeed(place, row.item_key, output)
                case Failure() as failure:
                    self.summary.fail(place, row.item_key, failure)


def _outcome(summary: Summary, document: JsonObject, on_error: OnItemError) -> Done | Failure:
    if summary.first is None or on_error is OnItemError.CONTINUE:
        return Done(document)
    told = f"{summary.failed} of {summary.total} items failed, the first with: {summary.first.message}"
    return Failure("ItemsFailed", told, summary.retryable, unsure=summary.unsure)
