"""Work that a worker elsewhere fetches, locks and completes, as it is read back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.model.json import JsonObject


class TaskStatus(StrEnum):
    """`OPEN`, whether a worker has it or not, until a worker is done with it, its time is over, or nobody
    waits for it any more."""

    OPEN = "OPEN"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class ExternalTask:
    """`lock_until` is when the worker's lock ends, or, after a failure, from when on it is offered again.
    `retries` None: nobody has said
    how many attempts are left."""

    id: str
    execution_id: str
    node_id: str
    visit: int
    workflow_id: str
    workflow_key: str
    workflow_version: int
    version_id: int
    institute_id: str
    topic: str
    priority: int
    status: TaskStatus
    worker_id: str | None
    lock_until: datetime | None
    retries: int | None
    variables: JsonObject
    business_key: str | None
    error_message: str | None
    error_details: str | None
    created_at: datetime
    expires_at: datetime | None
    completed_at: datetime | None
