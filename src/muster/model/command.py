"""Commands as they are read back."""

from dataclasses import dataclass
from datetime import datetime

from muster.model.json import Json


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One command, and its reply, if one came."""

    id: str
    workflow_instance_id: str
    workflow_id: str
    institute_id: str
    step_id: str
    visit: int
    attempt: int
    correlation_id: str
    compensates: str | None
    command_topic: str
    command_payload: Json
    command_headers: Json
    reply_topic: str
    reply_payload: Json
    reply_headers: Json
    reply_received_at: datetime | None
    late: bool
    sent_at: datetime | None
    timeout_at: datetime | None
    completed_at: datetime | None
    status: str
    error_message: str | None
    dlq_topic: str | None
    dlq_sent_at: datetime | None
    created_at: datetime
    updated_at: datetime
