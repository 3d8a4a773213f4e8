"""Waits for events, and what came close to one, as they are read back."""

from dataclasses import dataclass
from datetime import datetime

from muster.model.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """One wait. `received` says of each event that came when and from where it did, and how often it was
    repeated; `trouble` why its condition cannot be computed with them, where one wait alone is looked at."""

    id: str
    execution_id: str
    node_id: str
    visit: int
    correlation_id: str
    workflow_id: str
    institute_id: str
    aggregation_strategy: str
    status: str
    enabled_events: tuple[str, ...]
    required_events: tuple[str, ...]
    needed_events: tuple[str, ...]
    received_events: tuple[str, ...]
    received: JsonObject
    on_timeout: str
    near_misses: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    resumed_at: datetime | None
    resumed_by: str | None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class NearMissRecord:
    """An event that was not accepted, and why. `event` is the one that it would have been; `wait_id` is the
    wait that it came closest to; `trace` the `traceparent` that it came with."""

    id: int
    source: str
    topic: str | None
    execution_id: str
    correlation_id: str
    reason: str
    event: str | None
    payload: Json
    received_at: datetime
    wait_id: str | None
    applied_to: str | None
    applied_by: str | None
    institute_id: str
    trace: str | None = None
