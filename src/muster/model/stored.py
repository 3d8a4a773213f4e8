"""What the library of definitions keeps, as it is read back."""

from dataclasses import dataclass, field
from datetime import datetime

from muster.model.json import JsonObject
from muster.model.workflow import Definition, WorkflowKind, WorkflowStatus, WorkflowType


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named definition. `active_version` is None while none of its versions has been activated."""

    id: str
    key: str
    name: str
    description: str | None
    kind: WorkflowKind
    status: WorkflowStatus
    workflow_type: WorkflowType
    institute_id: str
    created_by_user_id: str | None
    active_version: int | None
    active_version_id: int | None
    latest_version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version about to be written: the model, its canonical document and that document's checksum."""

    definition: Definition
    document: JsonObject
    checksum: str
    created_by: str


@dataclass(frozen=True, slots=True)
class Version:
    """One immutable, numbered state of a workflow."""

    id: int
    workflow_id: str
    number: int
    document: JsonObject
    checksum: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """A reusable node config that nodes override. Each change raises `version`; a built-in one has none."""

    id: str
    name: str
    node_type: str
    config: JsonObject
    version: int = 1
    institute_id: str = ""
    built_in: bool = False


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token's public side; the token itself is only ever known to its holder."""

    id: str
    name: str
    roles: tuple[str, ...]
    institute_id: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to which thing, written in the transaction that did it."""

    entity_type: str
    entity_id: str
    action: str
    actor: str
    institute_id: str = ""
    details: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An audit entry as it was written. A higher `id` is a later one."""

    id: int
    entry: AuditEntry
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted. `cursor` is opaque: the list that was read before gave it."""

    limit: int = 50
    cursor: str | None = None


class BadCursor(ValueError):
    """A cursor that the list it was given to has never handed out."""

    def __init__(self) -> None:
        super().__init__("the cursor is not one that this list has given")
