"""Waits for events from outside: events come, from whichever door, and people look and help."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from muster.definitions.library import NotFound
from muster.engine.actions import By, Rearm, Retry
from muster.engine.control import Conflict
from muster.engine.event_waits import Accepted, Arrived, Source, Verdict, WaitStatus
from muster.kit.clock import Clock
from muster.model.access import Caller
from muster.model.event_wait import NearMissRecord, WaitRecord
from muster.model.stored import AuditEntry, Page
from muster.model.text import made_suitable
from muster.nodes.waiting_for_events import EventWaits

MOST_SHOWN = 2000
USUAL_EVENT = {Source.CALLBACK: "api_response", Source.KAFKA: "kafka_event"}


class ArrivalObserver(Protocol):
    """Who counts what becomes of events, and when they came. Told once it is durable."""

    def arrived(self, event: Arrived, verdict: Verdict, came_at: datetime) -> None: ...


class WaitLists(Protocol):
    """Waits and near misses as they are read. `institute_id` None reads across tenants."""

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        status: str | None = None,
        execution_id: str | None = None,
        workflow_id: str | None = None,
    ) -> tuple[Sequence[WaitRecord], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def get(self, institute_id: str | None, wait_id: str) -> WaitRecord | None: ...

    async def of_execution(self, execution_id: str) -> Sequence[WaitRecord]:
        """In the order in which they were opened."""
        ...

    async def near_misses(
        self,
        institute_id: str | None,
        page: Page,
        wait_id: str | None = None,
        execution_id: str | None = None,
        reason: str | None = None,
    ) -> tuple[Sequence[NearMissRecord], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def near_miss(self, institute_id: str | None, number: int) -> NearMissRecord | None: ...


class Applies(Protocol):
    async def apply(self, near_miss: int, wait_id: str, event: Arrived, audit: AuditEntry) -> Verdict:
        """Give an event to a wait by hand, and note that with the near miss and in the audit log: all of it,
        or nothing where the event is refused, or was applied before (a duplicate)."""
        ...


@dataclass(frozen=True, slots=True)
class Application:
    """How a near miss is to be applied: to which wait and as which event, if not to what it came closest
    to."""

    wait_id: str | None = None
    event: str | None = None


class EventWaiting:
    """`look_now` lets the engine of this process look at once for what has come due; `retry` tries a failed
    execution again."""

    def __init__(
        self,
        waits: EventWaits,
        lists: WaitLists,
        applies: Applies,
        retry: Callable[[str, By, Retry], Awaitable[None]],
        look_now: Callable[[], None],
        observer: ArrivalObserver,
        clock: Clock,
    ) -> None:
        self._waits, self._applies, self._retry = waits, applies, retry
        self._look_now, self._observer, self._clock = look_now, observer, clock
        self.lists = lists

    async def receive(self, events: Sequence[Arrived]) -> Sequence[Verdict]:
        """What becomes of events, each in its place; durable when this returns. Raises `NotWritten`."""
        came_at = self._clock.now()
        verdicts = await self._waits.receive(events)
        for event, verdict in zip(events, verdicts, strict=True):
            self._observer.arrived(event, verdict, came_at)
        if any(map(_is_to_be_found, verdicts)):
            self._look_now()
        return verdicts

    async def get(self, wait_id: str, actor: Caller) -> WaitRecord:
        """Raises `NotFound`."""
        found = await self.lists.get(actor.institute_id, wait_id)
        if found is None:
            raise NotFound(f"There is no wait {wait_id[:200]!r}")
        return found

    async def apply(self, number: int, by: By, how: Application) -> WaitRecord:
        """Give a near miss to a wait by hand. Raises `NotFound`, or `Conflict` where the wait does not take
        it."""
        near = await self.lists.near_miss(by.actor.institute_id, number)
        if near is None:
            raise NotFound(f"There is no near miss {number}")
        if near.applied_to is not None:
            raise Conflict(f"{near.applied_by} has applied it already")
        wait = await self._nearest(near, by.actor, how)
        name = how.event or near.event or _likely(near, wait)
        ids = (wait.execution_id, wait.correlation_id)
        came = Arrived(Source(near.source), *ids, near.payload, near.topic, trace=near.trace)
        event = replace(came, name=name, by_hand=True)
        came_at = self._clock.now()
        verdict = await self._applies.apply(number, wait.id, event, _audit(near, wait, name, by))
        self._observer.arrived(event, verdict, came_at)
        if not isinstance(verdict, Accepted):
            raise Conflict(f"The wait does not take it as {name}: {verdict.reason}")
        self._look_now()
        return await self.get(wait.id, by.actor)

    async def _nearest(self, near: NearMissRecord, actor: Caller, how: Application) -> WaitRecord:
        named = how.wait_id or near.wait_id
        if named is not None:
            return await self.get(named, actor)
        waits = [each for each in await self.lists.of_execution(near.execution_id) if _is_open(each)]
        if not waits or actor.institute_id not in (None, waits[-1].institute_id):
            raise Conflict("Nothing waits that it could be applied to: name a wait")
        return waits[-1]

    async def rearm(self, wait_id: str, until: datetime, by: By) -> WaitRecord:
        """Let an execution that failed by the deadline of this wait go on waiting. Raises `NotFound`, or
        `Conflict`."""
        wait = await self.get(wait_id, by.actor)
        if wait.status != WaitStatus.TIMEOUT:
            raise Conflict(f"The wait is {wait.status}: only one whose time was over is armed again")
        rearm = Rearm(wait.id, wait.node_id, wait.visit, until)
        await self._retry(wait.execution_id, by, Retry(rearm=rearm))
        return await self.get(wait_id, by.actor)


def beginning(raw: bytes) -> str:
    """How something begins that nobody can read, for people who look at it."""
    return made_suitable(raw[:MOST_SHOWN].decode(errors="replace"))


def _is_to_be_found(verdict: Verdict) -> bool:
    """Whether somebody has to look for the execution that goes on with it."""
    return isinstance(verdict, Accepted) and verdict.completes and not verdict.is_taken_up


def _is_open(wait: WaitRecord) -> bool:
    return wait.status == WaitStatus.WAITING


def _likely(near: NearMissRecord, wait: WaitRecord) -> str:
    """The event that it may have been meant as, by where it came from. Raises `Conflict` if nobody can
    tell."""
    usual = USUAL_EVENT.get(Source(near.source))
    missing = [name for name in wait.enabled_events if name not in wait.received_events]
    if usual in wait.enabled_events or not missing:
        return usual or ""
    if len(missing) > 1:
        raise Conflict(f"Say as which `event` it is to be taken: the wait lacks {', '.join(missing)}")
    return missing[0]


def _audit(near: NearMissRecord, wait: WaitRecord, event: str, by: By) -> AuditEntry:
    return AuditEntry(
        "wait",
        wait.id,
        "apply",
        by.actor.name,
        wait.institute_id,
        {"nearMiss": near.id, "event": event, "reason": by.reason, "executionId": wait.execution_id},
    )
