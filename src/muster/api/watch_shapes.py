"""What callers send and get about watched workflows, counts and items."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.shapes import ProblemEntry, Shape, is_none
from muster.model.watching import ExpectationStatus, Severity
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


class BucketRow(Shape):
    """What was counted in a minute."""

    workflow_version_id: int
    group_hash: str
    group: dict[str, JsonValue] | None
    node: str
    bucket_start: datetime
    in_flight: int = Field(description="What was in flight at the end of this minute.")
    in_flight_delta: int = Field(description="By how much that changed in this minute.")
    completed: int
    late: int
    failed: int


class BucketPage(Shape):
    items: list[BucketRow]
    next_cursor: str | None


class RecentBucket(Shape):
    bucket_start: datetime
    in_flight_delta: int
    completed: int
    late: int
    failed: int


class TileShape(Shape):
    node: str
    in_flight: int = Field(description="Now.")
    completed: int = Field(description="Since `since`; `late` and `failed`, too.")
    late: int
    failed: int
    status: Severity = Field(description="The worst of its alerts that are open or acknowledged.")
    next_due_at: datetime | None
    overdue_since: datetime | None = Field(description="When what is missing for longest was due.")
    countdown_sec: float | None = Field(description="Until then; less than nothing once that is past.")
    recent: list[RecentBucket] = Field(description="Its latest minutes in which anything happened.")


class GroupShape(Shape):
    group_hash: str
    group: dict[str, JsonValue] | None
    status: Severity
    nodes: list[TileShape]


class BoardEntry(Shape):
    key: str
    name: str
    version_id: int = Field(description="The active one; what began on others is counted, too.")
    status: Severity
    groups: list[GroupShape]


class BoardShape(Shape):
    at: datetime
    since: datetime
    workflows: list[BoardEntry]


class ItemRow(Shape):
    """A passage of a key through a watched workflow."""

    correlation_key: str
    run_id: int
    run_no: int
    workflow_key: str
    workflow_version_id: int
    version: int
    status: Severity
    last_node: str | None
    group: dict[str, JsonValue] | None
    group_hash: str
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    execution_id: str | None = Field(description="Where it is a run of Muster's own: the execution.")


class ItemPage(Shape):
    items: list[ItemRow]
    next_cursor: str | None


class ItemEventRow(Shape):
    node: str
    source_system: str
    event_id: str
    event_time: datetime
    received_at: datetime
    late: bool
    lateness_sec: float | None = Field(description="How long after it was due; null: nobody waited for it.")
    duplicate: bool
    order_violation: bool
    clamped: bool = Field(description="Its time was in the future: when it was received counts instead.")
    payload: JsonValue


class ItemExpectationRow(Shape):
    """What is still to come."""

    id: int
    from_node: str
    to_node: str
    due_at: datetime
    countdown_sec: float
    severity: Severity
    status: ExpectationStatus
    optional: bool
    fired_at: datetime | None


class ItemLinks(Shape):
    execution: str | None = Field(default=None, exclude_if=is_none)
