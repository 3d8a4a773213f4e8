"""Hearing at once of what changes in this process. Who must not miss anything looks for itself as well."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Changes:
    """Who listens to what, by name. Telling costs next to nothing where nobody listens."""

    def __init__(self) -> None:
        self._listening: dict[str, set[asyncio.Event]] = {}

    def tell(self, name: str) -> None:
        for event in self._listening.get(name, ()):
            event.set()

    @contextmanager
    def listening(self, *names: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever something is told under one of these names; whoever listens clears
        it."""
        heard = asyncio.Event()
        for name in names:
            self._listening.setdefault(name, set()).add(heard)
        try:
            yield heard
        finally:
            for name in names:
                self._listening[name].discard(heard)
                if not self._listening[name]:
                    del self._listening[name]
