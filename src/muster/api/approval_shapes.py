"""What callers send and get about approvals."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from muster.api.execution_shapes import REASON
from muster.api.shapes import Request, Shape
from muster.model.approval import ApprovalStatus


class Decide(Request):
    """What is decided: `decision`, or `approved`."""

    decision: Literal["approve", "reject"] | None = None
    approved: bool | None = Field(default=None, description="True for `approve`, false for `reject`.")
    form: JsonValue = Field(default=None, description="What the form asks for.")
    reason: str = REASON


class ApprovalItem(Shape):
    id: str
    execution_id: str
    node_id: str
    visit: int
    workflow_id: str
    institute_id: str
    status: ApprovalStatus
    title: str | None
    message: str | None
    assignees: list[str] = Field(description="Names or roles; an empty list: whoever may operate.")
    form_schema: JsonValue = Field(description="A JSON Schema of what is asked.")
    form: JsonValue = Field(description="What was answered.")
    reason: str | None
    decided_by: str | None
    decided_at: datetime | None
    expires_at: datetime | None
    created_at: datetime


class ApprovalPage(Shape):
    items: list[ApprovalItem]
    next_cursor: str | None
