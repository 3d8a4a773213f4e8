"""Hearing at once of what changes in this process. Who must not miss anything looks for itself as well."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Changes:
    """Who listens to what, by name. Telling costs next to nothing where nobody listens."""

    def __init__(self) -> None:
        # In the order in which they came, so that a simulation repeats.
        self._listening: dict[str, dict[asyncio.Event, None]] = {}

    def tell(self, name: str) -> None:
        for event in self._listening.get(name, ()):
            event.set()

    @contextmanager
    def listening(self, *names: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever something is told under one of these names; whoever listens clears
        it."""
        heard = asyncio.Event()
        for name in names:
            self._listening.setdefault(name, {})[heard] = None
        try:
            yield heard
        finally:
            for name in names:
                self._listening[name].pop(heard, None)
                if not self._listening[name]:
                    del self._listening[name]
