"""Dying at one call of many, for tests that try each of them."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Died(Exception):
    """As if the process had been killed."""


class Dying:
    """Dies before or after the nth call; before it, so that the call is not made, or after it, so that nobody
    hears of its result. From then on no call is made. Calls may come from any thread."""

    def __init__(self, at: int, after: bool) -> None:
        self._at, self._after, self._calls = at, after, 0
        self._counting = threading.Lock()
        self.dead = False

    async def __call__(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        with self._counted():
            return await call()

    def call(self, call: Callable[[], T]) -> T:
        """The same for a call that is waited for by its thread."""
        with self._counted():
            return call()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self._calls += 1
            is_last = self._calls == self._at
            self.dead = self.dead or (is_last and not self._after)
            if self.dead:
                raise Died
        try:
            yield
        finally:
            # Nobody hears of an error either; and others may have been made while this one was under way.
            self.dead = self.dead or is_last
            if self.dead:
                raise Died
