"""What this process asks of PostgreSQL, and how much it is answered."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from asyncpg import protocol  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from muster.store import open as store_open


@dataclass(slots=True)
class Asked:
    """Statements, those among them that only read, and the bytes of all answers."""

    statements: int = 0
    reads: int = 0
    answered: int = 0

    def since(self, before: "Asked") -> "Asked":
        return Asked(
            self.statements - before.statements, self.reads - before.reads, self.answered - before.answered
        )

    def now(self) -> "Asked":
        return Asked(self.statements, self.reads, self.answered)

    def note(self, *given: Any) -> None:
        """As SQLAlchemy tells of a statement: its text comes third."""
        self.statements += 1
        self.reads += given[2].lstrip()[:6].upper() == "SELECT"


@contextmanager
def counted() -> Iterator[Asked]:
    """Of all databases that are opened while the block runs."""
    asked, made, plain = Asked(), store_open.server_engine, protocol.Protocol

    def counting(*given: Any, **options: Any) -> AsyncEngine:
        engine = made(*given, **options)
        event.listen(engine.sync_engine, "before_cursor_execute", asked.note)
        return engine

    class Weighing(plain):  # type: ignore[misc, valid-type]  # it has no types
        def data_received(self, data: bytes) -> None:
            asked.answered += len(data)
            super().data_received(data)

    store_open.server_engine, protocol.Protocol = counting, Weighing
    try:
        yield asked
    finally:
        store_open.server_engine, protocol.Protocol = made, plain
