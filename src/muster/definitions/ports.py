"""What the library of definitions needs kept for it."""

from collections.abc import Sequence
from typing import Protocol

from muster.model.registered import RegisteredNames
from muster.model.stored import AuditEntry, NewVersion, NodeTemplate, Page, Version, Workflow
from muster.model.trigger import Trigger, TriggerSettings
from muster.model.workflow import WorkflowStatus


class Taken(Exception):
    """The key or name is in use already. `key` says which."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key!r} is taken")
        self.key = key


class PathTaken(Exception):
    """Another trigger has this path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the path {path!r} is taken")
        self.path = path


class Stale(Exception):
    """Somebody else changed it first. `current` is the version number that it has now."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the current version is {current}")
        self.current = current


class Workflows(Protocol):
    """Workflows and their versions.

    `institute_id` None reads across tenants; text reads that tenant's only, and what belongs to another is
    the same as what does not exist: None. Every write is one transaction with its audit entry, and, where a
    version becomes the active one, with the triggers of its definition: raises `PathTaken` for one of theirs.
    """

    async def create(
        self, workflow_id: str, key: str, version: NewVersion, status: WorkflowStatus, audit: AuditEntry
    ) -> Workflow:
        """Write a workflow and its version 1, active unless `status` is DRAFT. Raises `Taken`."""
        ...

    async def add_version(
        self, workflow_id: str, version: NewVersion, expected: int | None, activate: bool, audit: AuditEntry
    ) -> Version | None:
        """Append the next version. `expected` is the latest number the caller has seen; raises `Stale`."""
        ...

    async def activate(
        self, workflow_id: str, number: int, expected: int | None, audit: AuditEntry
    ) -> Workflow | None:
        """Make a version the one that new executions start on. None: no such workflow or version."""
        ...

    async def archive(self, workflow_id: str, expected: int | None, audit: AuditEntry) -> Workflow | None: ...

    async def get(self, institute_id: str | None, id_or_key: str) -> Workflow | None: ...

    async def version(self, workflow_id: str, number: int) -> Version | None: ...

    async def versions(self, workflow_id: str, page: Page) -> tuple[Sequence[Version], str | None]:
        """Newest first, and the cursor of the next page."""
        ...

    async def list(
        self, institute_id: str | None, page: Page, status: WorkflowStatus | None, query: str | None
    ) -> tuple[Sequence[Workflow], str | None]:
        """Newest first; archived ones only if `status` asks. `query` is part of a name or key."""
        ...

    async def keys_like(self, institute_id: str, prefix: str) -> frozenset[str]:
        """The keys in use that are `prefix` or `prefix-<number>`."""
        ...


class Templates(Protocol):
    """Node templates, by tenant."""

    async def create(self, template: NodeTemplate, audit: AuditEntry) -> NodeTemplate:
        """Raises `Taken` if the id is in use."""
        ...

    async def replace(
        self, template: NodeTemplate, expected: int | None, audit: AuditEntry
    ) -> NodeTemplate | None:
        """Write name, type and config anew with version + 1. Raises `Stale`."""
        ...

    async def delete(
        self, institute_id: str | None, template_id: str, expected: int | None, audit: AuditEntry
    ) -> bool:
        """False: there is none. Raises `Stale`."""
        ...

    async def get(self, institute_id: str | None, template_id: str) -> NodeTemplate | None: ...

    async def find(self, institute_id: str, template_ids: Sequence[str]) -> dict[str, NodeTemplate]: ...

    async def list(
        self, institute_id: str | None, page: Page
    ) -> tuple[Sequence[NodeTemplate], str | None]: ...


class Triggers(Protocol):
    """What starts workflows from outside. Every write is one transaction with its audit entry; None or False:
    there is no such trigger."""

    async def create(
        self,
        trigger_id: str,
        workflow_id: str,
        institute_id: str,
        settings: TriggerSettings,
        secret: str | None,
        audit: AuditEntry,
    ) -> Trigger:
        """Raises `PathTaken`."""
        ...

    async def replace(
        self,
        trigger_id: str,
        settings: TriggerSettings,
        secret: str | None,
        expected: int | None,
        audit: AuditEntry,
    ) -> tuple[Trigger, bool] | None:
        """Its secrets are gone if it is authenticated in another way. With none left it has this one, if one
        is given: then True is beside it. Raises `Stale`, `PathTaken`."""
        ...

    async def add_secret(self, trigger_id: str, secret: str, audit: AuditEntry) -> Trigger | None:
        """The one before it stays valid, older ones do not."""
        ...

    async def keep_newest_secret(self, trigger_id: str, audit: AuditEntry) -> Trigger | None: ...

    async def delete(self, trigger_id: str, audit: AuditEntry) -> bool: ...

    async def get(self, institute_id: str | None, trigger_id: str) -> Trigger | None: ...

    async def list(
        self, institute_id: str | None, workflow_id: str | None, page: Page
    ) -> tuple[Sequence[Trigger], str | None]: ...


class Registered(Protocol):
    """What administrators have registered, for workflows to name."""

    async def names(self, institute_id: str) -> RegisteredNames:
        """What an institute's workflows may name: its own, and what is shared by all."""
        ...
