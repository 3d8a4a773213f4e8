"""What callers send and get about watched workflows."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.shapes import ProblemEntry, Shape
from muster.model.workflow import WorkflowStatus


class WatchedCreated(Shape):
    id: str
    key: str
    version_id: int = Field(description="What `{versionId}` is in other paths.")
    version: int
    warnings: list[ProblemEntry]


class WatchedRow(Shape):
    """A watched workflow without its graph."""

    id: str
    key: str
    name: str
    description: str | None
    status: WorkflowStatus
    institute_id: str
    created_by: str | None = Field(validation_alias="created_by_user_id")
    version_id: int | None = Field(
        validation_alias="active_version_id", description="The version that new runs begin on."
    )
    version: int | None = Field(validation_alias="active_version")
    latest_version: int
    created_at: datetime
    updated_at: datetime


class WatchedWhole(WatchedRow):
    """A watched workflow with its newest document; `ETag` is that version's number."""

    definition: dict[str, JsonValue]


class WatchedPage(Shape):
    items: list[WatchedRow]
    next_cursor: str | None


class WatchedVersion(Shape):
    version_id: int
    version: int
    definition: dict[str, JsonValue]
    checksum: str
    created_by: str
    created_at: datetime


class WatchedVersionPage(Shape):
    items: list[WatchedVersion]
    next_cursor: str | None
