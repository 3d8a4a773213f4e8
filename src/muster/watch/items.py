"""Items: where a key is on its way through a watched workflow, and how it came there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from muster.definitions.library import NotFound
from muster.model.access import Caller
from muster.model.json import Json, JsonObject
from muster.model.stored import Page
from muster.model.watching import ExpectationStatus, Severity
from muster.model.workflow import WorkflowKind
from muster.watch.alert_book import Alert


@dataclass(frozen=True, slots=True)
class ItemRun:
    """One passage of a key."""

    run_id: int
    correlation_key: str
    run_no: int
    workflow_key: str
    workflow_kind: WorkflowKind
    workflow_version_id: int
    version: int
    status: Severity
    last_node: str | None
    group: JsonObject | None
    group_hash: str
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @property
    def execution_id(self) -> str | None:
        """Where Muster itself is what is watched: its execution."""
        return self.correlation_key if self.workflow_kind is WorkflowKind.ORCHESTRATED else None


@dataclass(frozen=True, slots=True)
class ItemEvent:
    """An event that was applied. `lateness`: by how much it came after it was due; None: nothing waited for
    it."""

    node: str
    source_system: str
    event_id: str
    event_time: datetime
    received_at: datetime
    late: bool
    duplicate: bool
    order_violation: bool
    clamped: bool
    payload: Json
    lateness: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ItemExpectation:
    """What the run waits for, or has waited for in vain."""

    id: int
    from_node: str
    to_node: str
    due_at: datetime
    severity: Severity
    status: ExpectationStatus
    optional: bool
    fired_at: datetime | None
    cleared_at: datetime | None
    abandoned_at: datetime | None

    @property
    def remains(self) -> bool:
        return self.status is not ExpectationStatus.CLEARED and self.abandoned_at is None


@dataclass(frozen=True, slots=True)
class Item:
    """A run with all that is known of it. `runs` are all of its key, the newest first."""

    run: ItemRun
    runs: Sequence[ItemRun]
    events: Sequence[ItemEvent]
    expectations: Sequence[ItemExpectation]
    alerts: Sequence[Alert]


@dataclass(frozen=True, slots=True)
class WantedItems:
    """`q` is how a correlation key begins; `workflow` is a workflow's id or key; `node` is what is still
    counted on, missed or not yet due; `group` is a group's hash."""

    q: str | None = None
    status: Severity | None = None
    workflow: str | None = None
    node: str | None = None
    group: str | None = None


class ItemBook(Protocol):
    async def item(
        self, institute_id: str | None, correlation_key: str, version_id: int | None
    ) -> Item | None:
        """The key's newest run, on this version if one is given."""
        ...

    async def search(
        self, institute_id: str | None, wanted: WantedItems, page: Page
    ) -> tuple[Sequence[ItemRun], str | None]:
        """Newest first, and the cursor of the next page. Raises `BadCursor`."""
        ...


class Items:
    def __init__(self, book: ItemBook) -> None:
        self._book = book

    async def get(self, correlation_key: str, version_id: int | None, caller: Caller) -> Item:
        """Raises `NotFound`."""
        found = await self._book.item(caller.institute_id, correlation_key, version_id)
        if found is None:
            raise NotFound(f"There is no item {correlation_key[:200]!r}")
        return found

    async def search(
        self, caller: Caller, wanted: WantedItems, page: Page
    ) -> tuple[Sequence[ItemRun], str | None]:
        return await self._book.search(caller.institute_id, wanted, page)


def lateness(event: ItemEvent, expectations: Sequence[ItemExpectation]) -> timedelta | None:
    """By how much an event came after what it cleared was due; less than nothing is nothing."""
    cleared = [
        each for each in expectations if each.to_node == event.node and each.cleared_at == event.received_at
    ]
    if not cleared:
        return None
    due = min(each.due_at for each in cleared)
    return max(event.received_at - due, timedelta(0))
