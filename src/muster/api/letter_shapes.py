"""What callers send and get about dead letters."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.execution_shapes import REASON
from muster.api.shapes import Request, Shape
from muster.engine.letters import LetterKind, LetterStatus


class Redrive(Request):
    reason: str = REASON
    from_: str | None = Field(
        default=None, alias="from", description="The node to go on from; else where it failed."
    )
    context: dict[str, JsonValue] | None = Field(default=None, description="Changes to the context.")
    version: int | None = Field(
        default=None, ge=1, le=2_147_483_647, description="Another version to go on with."
    )


class LetterItem(Shape):
    """Something that could not be brought to its end."""

    id: int
    kind: LetterKind
    source: str = Field(description="Where it comes from; of an execution, its workflow's key.")
    key: str = Field(description="What it is there; of an execution, its id.")
    value: JsonValue
    headers: JsonValue
    error_type: str
    error_message: str
    attempts: JsonValue = Field(description="What was tried, with times and errors.")
    status: LetterStatus
    institute_id: str
    created_at: datetime
    resolved_at: datetime | None


class LetterPage(Shape):
    items: list[LetterItem]
    next_cursor: str | None
