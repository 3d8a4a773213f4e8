"""A backtest: what a version, or a draft, would have made of the events that came."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from muster.definitions.library import Invalid
from muster.kit.aside import aside
from muster.kit.clock import Clock
from muster.model.access import Caller
from muster.model.json import JsonObject
from muster.model.stored import Version, Workflow
from muster.model.watching import Event, WatchedGraph
from muster.watch.graph import read_graph
from muster.watch.library import WatchedLibrary
from muster.watch.replay import Replaying, Report, Told, compare

# Enough that each batch goes to another thread: whoever asks for something else meanwhile does not wait.
HEAVY = 1 << 30


@dataclass(frozen=True, slots=True)
class Asked:
    """Which events, through what: a version by its number, or a draft; neither: the active version. Without
    `until`, those until now."""

    workflow: str
    version: int | None = None
    graph: JsonObject | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Backtested:
    """`truncated`: there were more events than are replayed at once, and the later ones were left out."""

    workflow: Workflow
    version: int | None
    since: datetime | None
    until: datetime
    truncated: bool
    left_out: int
    report: Report


class History(Protocol):
    async def kept_since(self) -> datetime | None:
        """Since when all is there that came and that was made of it; None: nothing has gone yet."""
        ...

    async def under_way(self, workflow: Workflow, since: datetime) -> Collection[str]:
        """Keys whose runs had begun before, and went on: what they did before is not replayed."""
        ...

    def events(
        self, workflow: Workflow, types: Collection[str], since: datetime | None, until: datetime, most: int
    ) -> AsyncIterator[Sequence[Event]]:
        """Those that concern the workflow, in the order in which they came, batch by batch; one more than
        `most`, if there are."""
        ...

    async def told(
        self, workflow: Workflow, since: datetime | None, until: datetime, without: Collection[str]
    ) -> Told:
        """What has come of the runs that began then, but for these keys."""
        ...


class Backtest:
    def __init__(self, library: WatchedLibrary, history: History, clock: Clock) -> None:
        self._library, self._history, self._clock = library, history, clock

    async def run(self, asked: Asked, caller: Caller, most: int) -> Backtested:
        """Raises `NotFound`, and `Invalid` for a draft that is none. It writes nothing."""
        workflow = await self._library.workflow(asked.workflow, caller)
        graph, version = await self._graph(asked, workflow)
        until = min(asked.until or self._clock.now(), self._clock.now())
        kept = await self._history.kept_since()
        since = max((each for each in (asked.since, kept) if each is not None), default=None)
        out = frozenset(await self._history.under_way(workflow, since) if since else ())
        # A version expects runs to begin since it was made; a draft from where this begins.
        expects_from = max((each for each in (since, version and version.created_at) if each), default=None)
        replaying, taken, truncated = Replaying(graph, expects_from, since), 0, False
        types = graph.by_event_type.keys()
        async for batch in self._history.events(workflow, types, since, until, most):
            if taken + len(batch) > most:
                batch = batch[: most - taken]
                truncated, until = True, batch[-1].received_at if batch else until
            taken += len(batch)
            wanted = [event for event in batch if event.correlation_key not in out]
            await aside(HEAVY, partial(replaying.take, wanted))
            if truncated:
                break
        await aside(HEAVY, partial(replaying.pass_until, until))
        now = await self._history.told(workflow, since, until, out)
        report = compare(now, replaying.told)
        number = None if version is None else version.number
        return Backtested(workflow, number, since, until, truncated, len(out), report)

    async def _graph(self, asked: Asked, workflow: Workflow) -> tuple[WatchedGraph, Version | None]:
        version = None
        if asked.graph is None:
            number = asked.version or workflow.active_version or workflow.latest_version
            version = await self._library.version(workflow, number)
            document = version.document
        else:
            # A draft keeps what the newest version says beside its graph.
            newest = await self._library.version(workflow, workflow.latest_version)
            document = {**newest.document, "graph": asked.graph}
        reading = read_graph(document)
        if reading.graph is None:
            raise Invalid(reading.errors)
        return reading.graph, version
