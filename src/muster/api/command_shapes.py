"""What callers get about commands."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.shapes import Shape
from muster.engine.commands import CommandStatus


class CommandItem(Shape):
    """A command that an execution has sent, or is about to, and its reply."""

    id: str
    workflow_instance_id: str = Field(description="The execution.")
    workflow_id: str
    institute_id: str
    step_id: str = Field(description="The node.")
    visit: int
    attempt: int
    correlation_id: str
    compensates: str | None = Field(description="The correlation id of the command that it undoes.")
    command_topic: str
    command_payload: JsonValue
    command_headers: JsonValue
    reply_topic: str
    reply_payload: JsonValue
    reply_headers: JsonValue
    reply_received_at: datetime | None
    late: bool = Field(description="Whether its reply came when nobody waited any more.")
    sent_at: datetime | None = Field(description="When the bus had it; its time counts from then.")
    timeout_at: datetime | None
    completed_at: datetime | None
    status: CommandStatus
    error_message: str | None
    dlq_topic: str | None
    dlq_sent_at: datetime | None
    created_at: datetime
    updated_at: datetime


class CommandPage(Shape):
    items: list[CommandItem]
    next_cursor: str | None
