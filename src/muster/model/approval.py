"""A decision that people are asked for, as it is read back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.model.json import Json, JsonObject


class ApprovalStatus(StrEnum):
    OPEN = "OPEN"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class Decision(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Approval:
    """`form_schema` is the JSON Schema of what is asked, `form` what was answered. Without `assignees`,
    whoever operates may decide."""

    id: str
    execution_id: str
    node_id: str
    visit: int
    workflow_id: str
    institute_id: str
    status: ApprovalStatus
    title: str | None
    message: str | None
    assignees: tuple[str, ...]
    form_schema: JsonObject | None
    form: Json
    reason: str | None
    decided_by: str | None
    decided_at: datetime | None
    expires_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody has decided."""

    decision: Decision
    form: Json
    reason: str
    by: str
