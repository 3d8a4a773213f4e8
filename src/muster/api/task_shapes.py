"""What callers get about external tasks."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.shapes import Shape
from muster.model.external_task import TaskStatus


class ExternalTaskItem(Shape):
    id: str
    execution_id: str
    node_id: str
    visit: int
    workflow_id: str
    workflow_key: str
    workflow_version: int
    institute_id: str
    topic: str
    priority: int
    status: TaskStatus
    worker_id: str | None = Field(description="Who has it, or had it last.")
    lock_until: datetime | None = Field(
        description="When the worker's lock ends; without a worker, from when on it is offered."
    )
    retries: int | None
    variables: JsonValue
    error_message: str | None
    error_details: str | None
    created_at: datetime
    expires_at: datetime | None
    completed_at: datetime | None


class ExternalTaskPage(Shape):
    items: list[ExternalTaskItem]
    next_cursor: str | None
