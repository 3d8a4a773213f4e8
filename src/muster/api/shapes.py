"""What callers send and get, as types: the OpenAPI document is made from these."""

from datetime import datetime
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from muster.definitions.names import KEY, KEY_RULE
from muster.model.workflow import WorkflowKind, WorkflowStatus, WorkflowType

# What is known to be JSON: to look at each value of it again takes longer than to read it did.
Known: TypeAlias = Any
Context: TypeAlias = dict[str, Any]


def is_none(value: object) -> bool:
    return value is None


class Shape(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, from_attributes=True, frozen=True
    )


class Request(Shape):
    """A body. Fields that it does not have are refused by name."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=False,
        validate_by_alias=True,
        frozen=True,
        extra="forbid",
        strict=True,
    )


class ProblemEntry(Shape):
    """One thing wrong: where, what, and where possible how to mend it."""

    pointer: str = Field(
        description="A JSON pointer into what was sent.", examples=["/workflow/nodes/0/type"]
    )
    code: str = Field(examples=["UNKNOWN_NODE_TYPE"])
    message: str
    suggestion: str | None = Field(default=None, exclude_if=is_none)
    line: int | None = Field(default=None, exclude_if=is_none)
    column: int | None = Field(default=None, exclude_if=is_none)


class ProblemDetails(Shape):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="Where this code is explained.", examples=["/docs#NOT_FOUND"])
    title: str
    status: int
    code: str = Field(description="Stable: branch on this.", examples=["NOT_FOUND"])
    detail: str
    request_id: str = Field(description="The same as in `X-Request-Id`: the log has it too.")
    errors: list[ProblemEntry] | None = None


class WorkflowCreated(Shape):
    id: str
    key: str
    version: int
    warnings: list[ProblemEntry]


class WorkflowRow(Shape):
    """A workflow without its definition."""

    id: str
    key: str
    name: str
    description: str | None
    kind: WorkflowKind
    status: WorkflowStatus
    workflow_type: WorkflowType
    institute_id: str
    created_by_user_id: str | None
    active_version: int | None = Field(description="The version that new executions start on.")
    active_version_id: int | None
    latest_version: int
    created_at: datetime
    updated_at: datetime


class WorkflowWhole(WorkflowRow):
    """A workflow with its newest definition; `ETag` is that version's number."""

    version: int = Field(description="The number of the version that `definition` is.")
    definition: dict[str, JsonValue]


class WorkflowPage(Shape):
    items: list[WorkflowRow]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page; null on the last.")


class VersionRow(Shape):
    """One immutable version."""

    id: int
    workflow_id: str
    version: int
    definition: dict[str, JsonValue]
    checksum: str
    created_by: str
    created_at: datetime


class VersionPage(Shape):
    items: list[VersionRow]
    next_cursor: str | None


class DefinitionVerdict(Shape):
    valid: bool
    errors: list[ProblemEntry]
    warnings: list[ProblemEntry]


class Activate(Request):
    version: int | None = Field(default=None, ge=1, description="Which version; the latest if left out.")


class DrawnPlace(Shape):
    x: int
    y: int


class DrawnExtent(Shape):
    width: int
    height: int


class DrawnState(Shape):
    """How a node fares in an execution: its last visit."""

    status: str
    visits: int
    attempt: int
    seconds: float | None = Field(description="How long it took, if it is over.")
    waits_until: datetime | None


class DrawnNode(Shape):
    id: str
    name: str
    type: str
    kind: str | None
    position: DrawnPlace
    size: DrawnExtent
    is_start_node: bool
    is_end_node: bool
    steps: list[str] = Field(description="What the node does, in sentences.")
    execution: DrawnState | None = Field(default=None, description="Only with `execution=`.")


class DrawnEdge(Shape):
    from_: str = Field(alias="from")
    to: str
    type: str
    label: str
    is_back: bool = Field(description="It closes a loop.")


class Drawing(Shape):
    """A workflow as a picture: what is where."""

    name: str
    width: int
    height: int
    nodes: list[DrawnNode]
    edges: list[DrawnEdge]


class TemplateRow(Shape):
    """A node config that nodes name by `nodeTemplateId` and override."""

    id: str
    name: str
    node_type: str
    config_json: dict[str, JsonValue]
    version: int
    institute_id: str
    built_in: bool = Field(description="It comes with Muster, and stays as it is.")


class TemplatePage(Shape):
    items: list[TemplateRow]
    next_cursor: str | None


class TemplateBody(Request):
    id: str | None = Field(
        default=None,
        description=f"It has {KEY_RULE}. One is made if left out.",
        json_schema_extra={"pattern": f"^{KEY.pattern}$"},
    )
    name: str = Field(min_length=1, max_length=200)
    node_type: str = Field(min_length=1, max_length=100)
    config_json: dict[str, JsonValue] | str | None = Field(
        default=None, description="The config, as an object or as JSON text."
    )
    config: dict[str, JsonValue] | None = Field(default=None, description="The same as `configJson`.")


class NodeTypeRow(Shape):
    """A type of node."""

    name: str
    kind: str
    category: str
    title: str
    description: str
    schema_: dict[str, JsonValue] = Field(
        alias="schema", description="The JSON Schema (draft 2020-12) of its config."
    )
    examples: list[JsonValue]


class NodeTypePage(Shape):
    items: list[NodeTypeRow]
    next_cursor: str | None


class Evaluate(Request):
    expression: str = Field(min_length=1, max_length=65_536, examples=["#{days <= 7}"])
    context: dict[str, JsonValue] = Field(default_factory=dict, examples=[{"days": 3}])


class Evaluated(Shape):
    value: JsonValue


class TokenBody(Request):
    name: str = Field(min_length=1, max_length=200)
    roles: list[str] = Field(min_length=1, examples=[["producer"]])
    institute_id: str | None = Field(default=None, max_length=200)
    expires_at: datetime | None = Field(default=None, description="When it stops working.", strict=False)


class TokenRow(Shape):
    """An API token's public side."""

    id: str
    name: str
    roles: list[str]
    institute_id: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute; null: never.")


class TokenMade(TokenRow):
    token: str = Field(description="The token itself: shown now and never again.")


class TokenPage(Shape):
    items: list[TokenRow]
    next_cursor: str | None


class Me(Shape):
    """The caller, as they were recognised."""

    name: str
    may: list[str] = Field(description="The roles whose work they may do.", examples=[["viewer"]])
    institute_id: str | None = Field(description="The one that they act for; null: all of them.")
    how: str = Field(description="`token`, `oidc`, `loopback` or `insecure`.")


class AuditRow(Shape):
    """Who did what, and when."""

    id: int
    entity_type: str
    entity_id: str
    action: str
    actor: str
    institute_id: str
    details: dict[str, JsonValue]
    created_at: datetime


class AuditPage(Shape):
    items: list[AuditRow]
    next_cursor: str | None


class HealthComponent(Shape):
    status: str = Field(
        description="`UP`, `DOWN`, or `DEGRADED`: away, which can be borne for now.", examples=["UP"]
    )
    details: dict[str, JsonValue]


class Health(Shape):
    status: str = Field(description="`UP` or `DOWN`.", examples=["UP"])
    components: dict[str, HealthComponent] = Field(description="Each dependency.")


class Alive(Shape):
    status: str = Field(examples=["UP"])
