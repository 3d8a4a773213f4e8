"""When tokens were last used, written a minute at a time."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from clocks import FakeClock
from muster.api.auth import TokenUses, noting

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Table:
    def __init__(self) -> None:
        self.written: list[dict[str, datetime]] = []
        self.away = False

    async def touch(self, used: Mapping[str, datetime]) -> None:
        if self.away:
            raise OSError("away")
        self.written.append(dict(used))


async def test_many_uses_are_one_write_of_the_last_of_each() -> None:
    table, clock = Table(), FakeClock(NOON)
    uses = TokenUses(table.touch, clock)
    uses.note("t1")
    clock.forward(seconds=5)
    uses.note("t1")
    uses.note("t2")
    later = NOON + timedelta(seconds=5)
    assert await uses.write() == 60
    assert await uses.write() == 60
    assert table.written == [{"t1": later, "t2": later}]


async def test_what_could_not_be_written_is_written_next_time() -> None:
    table, clock = Table(), FakeClock(NOON)
    uses = TokenUses(table.touch, clock)
    uses.note("t1")
    table.away = True
    with pytest.raises(OSError, match="away"):
        await uses.write()
    table.away = False
    await uses.write()
    assert table.written == [{"t1": NOON}]


async def test_the_last_uses_are_written_at_the_end_and_a_database_that_is_away_does_not_matter() -> None:
    for away, written in ((False, [{"t1": NOON}]), (True, [])):
        table = Table()
        table.away = away
        uses = TokenUses(table.touch, FakeClock(NOON))
        async with noting(uses):
            uses.note("t1")
        assert table.written == written
