"""Items that are done are progress: what brought its owners down was not an execution that gets further."""

from typing import Any, cast

from clocks import NOON
from muster.engine.item_journal import Entry, ItemJournal
from muster.engine.journal import JournalRow
from muster.engine.live import Live
from muster.engine.owned import Progress
from muster.engine.ports import Executions
from muster.engine.state import State
from muster.engine.view import Facts

FACTS = Facts("e1", "w1", 1, "", NOON, {})


class Kept:
    def __init__(self) -> None:
        self.written: list[Progress] = []

    async def write(self, progress: Progress) -> None:
        self.written.append(progress)


async def test_the_first_items_that_are_written_end_a_suspicion() -> None:
    kept = Kept()
    live = Live(FACTS, 7, cast("Any", None), State())
    live.takeovers = 3
    journal = ItemJournal(cast("Executions", kept), live, "n", 1, resumed=True)
    row = JournalRow("n", 1, "0", 1, 1, "completed", NOON, NOON)
    await journal.write([Entry(row)])
    await journal.write([Entry(row)])
    assert [each.was_taken_over for each in kept.written] == [True, False]
    assert not live.was_taken_over
