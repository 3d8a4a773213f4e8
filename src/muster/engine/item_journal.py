"""The journal of one visit's items: which are done, what they came to, and what is added to it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from muster.engine.handlers import Call, Done
from muster.engine.journal import PERMANENT, JournalRow
from muster.engine.lines import Fields, about_execution
from muster.engine.live import Live
from muster.engine.openings import Opening
from muster.engine.owned import Progress
from muster.engine.ports import Executions, Lost, NotWritten
from muster.engine.state import Failure
from muster.engine.writing import write_until_written
from muster.kit.backoff import until_it_works
from muster.kit.faults import without_words
from muster.model.aside import linked
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError

LAST_WORDS_SECONDS = 2.0
PAUSES = (0.05, 0.5, 2.0)
log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """An item's row, and what it opens with it."""

    row: JournalRow
    opens: tuple[Opening, ...] = ()


class ItemJournal:
    """`resumed`: there may be items from before. Where there are none, nobody has to look. `repeats`: the
    policy tries the list again, so what has failed for good is not tried with it."""

    def __init__(
        self,
        executions: Executions,
        live: Live,
        node: str,
        visit: int,
        resumed: bool,
        repeats: bool = False,
    ) -> None:
        self._executions, self._live = executions, live
        self._resumed, self._repeats = resumed, repeats
        self._visit = (live.facts.id, node, visit)

    async def done(self) -> Set[str]:
        """The keys of the items that are done already."""
        if not self._resumed:
            return frozenset()
        return await until_it_works(lambda: self._executions.done_items(*self._visit), NotWritten, self._tell)

    async def failed(self) -> Mapping[str, Failure]:
        """The items that have failed for good, by their keys."""
        if not self._repeats:
            return {}
        found = await until_it_works(
            lambda: self._executions.failed_items(*self._visit), NotWritten, self._tell
        )
        return {key: _failure_of(error) for key, error in found.items()}

    async def outputs(self, keys: Sequence[str]) -> Mapping[str, Json]:
        """What items that are done came to; of what is large, where it is."""
        found = await until_it_works(
            lambda: self._executions.item_outputs(*self._visit, keys), NotWritten, self._tell
        )
        return {key: linked(self._visit[0], output) for key, output in found.items()}

    async def write(self, entries: Sequence[Entry]) -> Mapping[str, Failure]:
        """Make them durable. What the database will not take of an item is that item's failure: answered by
        its key, and written so. Raises `Lost`."""
        try:
            await self._write(entries)
        except Lost:
            raise
        except Exception as refused:
            # Whatever it does not like: of many rows it may be one, and the others did happen.
            if len(entries) == 1:
                return await self._write_refused(entries[0], refused)
            middle = len(entries) // 2
            return {**await self.write(entries[:middle]), **await self.write(entries[middle:])}
        return {}

    async def write_once(self, entries: Sequence[Entry]) -> None:
        """Write what happened before an end that has come already; what is not written will happen again."""
        with suppress(Exception):  # whoever ended it is not to be stopped by the store's trouble
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._executions.write(self._progress(entries))

    async def _write_refused(self, entry: Entry, refused: Exception) -> Mapping[str, Failure]:
        """What is refused again and again is the item's failure, which opens nothing. Once may be the
        database's bad day, and the item did happen."""
        row = entry.row
        for pause in () if isinstance(refused, AuthorError) else PAUSES:
            await asyncio.sleep(pause)
            try:
                await self._write([entry])
            except Lost:
                raise
            except Exception as again:  # as above: whatever it does not like
                refused = again
            else:
                return {}
        # Neither its key nor what is said of it: both are made of what the item is about.
        kind = type(refused).__name__
        ids = self._about() | {"exception": without_words(refused)}
        log.warning("execution %s, node %s: an item cannot be stored: %s", *self._visit[:2], kind, extra=ids)
        failure = Failure("Unstorable", "what came of it cannot be stored; the log says more")
        await self._write([Entry(failed(row, failure))])
        return {row.item_key: failure}

    async def _write(self, entries: Sequence[Entry]) -> None:
        await write_until_written(self._executions, self._progress(entries))
        self._live.has_progressed()

    def _progress(self, entries: Sequence[Entry]) -> Progress:
        opens = [opening for entry in entries for opening in entry.opens]
        return self._live.progress([entry.row for entry in entries], opens)

    def _tell(self, away: Exception) -> None:
        told = self._about()
        log.warning("execution %s: its items cannot be read yet: %s", self._visit[0], away, extra=told)

    def _about(self) -> Fields:
        return about_execution(self._live.facts) | {"node_id": self._visit[1]}


def item_row(call: Call, outcome: Done | Failure, started: datetime, now: datetime) -> JournalRow:
    """What became of an item, for the journal."""
    row = JournalRow(
        call.node_id, call.visit, call.item_key, 0, call.attempt, NodeStatus.COMPLETED, started, now
    )
    if isinstance(outcome, Failure):
        return failed(row, outcome)
    return row._replace(output=outcome.output)


def failed(row: JournalRow, failure: Failure) -> JournalRow:
    error: JsonObject = {"type": failure.type, "message": failure.message}
    if not failure.retryable:
        error[PERMANENT] = True
    return row._replace(status=NodeStatus.FAILED, output=None, error=error)


def _failure_of(error: JsonObject) -> Failure:
    return Failure(str(error.get("type")), str(error.get("message")))
