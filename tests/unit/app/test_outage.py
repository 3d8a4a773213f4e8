"""An outage of the database is two lines in the log, however many ask meanwhile."""

from typing import Any

import pytest
import structlog

from muster.app.health import CALM_SECONDS, WatchedDatabase
from muster.store.database import Unavailable


class Shaky:
    dialect_name = "shaky"

    def __init__(self) -> None:
        self.away = False

    async def write(self, work: Any, single: bool = False) -> Any:
        if self.away:
            raise Unavailable("connection refused")
        return None

    read = write

    async def close(self) -> None: ...


class Watched:
    def __init__(self) -> None:
        self.now = 0.0
        self.shaky = Shaky()
        self.database = WatchedDatabase(self.shaky, lambda: self.now)

    async def ask(self, times: int) -> None:
        for _ in range(times):
            for asked in (self.database.write, self.database.read):
                try:
                    await asked(lambda connection: None)
                except Unavailable:
                    assert self.shaky.away


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_an_outage_is_a_line_at_its_beginning_and_one_at_its_end(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        await watched.ask(3)
        watched.shaky.away = True
        await watched.ask(500)
        watched.now = 12.0
        await watched.ask(500)
        watched.shaky.away = False
        watched.now += CALM_SECONDS + 1
        await watched.ask(3)
    assert [line["event"] for line in lines] == ["database unavailable", "database is back"]
    assert lines[0]["reason"] == "connection refused"
    assert (lines[1]["seconds"], lines[1]["failures"]) == (12.0, 2000)


async def test_an_answer_in_between_does_not_end_an_outage(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(10):
            watched.now += 0.5
            watched.shaky.away = True
            await watched.ask(1)
            watched.shaky.away = False
            await watched.ask(1)
    assert [line["event"] for line in lines] == ["database unavailable"]


async def test_the_next_outage_is_told_of_again(watched: Watched) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            watched.shaky.away = True
            await watched.ask(1)
            watched.shaky.away = False
            watched.now += CALM_SECONDS + 1
            await watched.ask(1)
    assert len(lines) == 4
