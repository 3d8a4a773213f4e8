"""What the routes of the registries need kept for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from muster.model.registered import ActionDefinition, DataSource, PrebuiltQuery, SecretEntry, SourceDraft
from muster.model.stored import AuditEntry, Page

Written = TypeVar("Written", contravariant=True)
Read = TypeVar("Read", covariant=True)


class Kept(Protocol[Written, Read]):
    """Entries of one kind, by institute and key. Every write is one transaction with its audit entry."""

    async def create(self, entry: Written, audit: AuditEntry, /) -> Read:
        """Raises `Taken`, `AuthorError`, `NotConfigured`."""
        ...

    async def replace(self, entry: Written, expected: int | None, audit: AuditEntry, /) -> Read | None:
        """None: there is none. Raises `Stale`, `AuthorError`, `NotConfigured`."""
        ...

    async def delete(self, institute_id: str | None, key: str, audit: AuditEntry) -> bool:
        """False: there is none. Raises `InUse`."""
        ...

    async def get(self, institute_id: str | None, key: str) -> Read | None: ...

    async def list(self, institute_id: str | None, page: Page) -> tuple[Sequence[Read], str | None]: ...


class Secrets(Protocol):
    """Secrets, whose values come in and never go out."""

    async def create(self, institute_id: str, name: str, value: str, audit: AuditEntry) -> SecretEntry:
        """Raises `Taken`, `NotConfigured`."""
        ...

    async def put(self, institute_id: str, name: str, value: str, audit: AuditEntry) -> SecretEntry:
        """Raises `NotConfigured`."""
        ...

    async def delete(self, institute_id: str | None, name: str, audit: AuditEntry) -> bool:
        """Raises `InUse`."""
        ...

    async def get(self, institute_id: str | None, name: str) -> SecretEntry | None: ...

    async def list(
        self, institute_id: str | None, page: Page
    ) -> tuple[Sequence[SecretEntry], str | None]: ...


@dataclass(frozen=True, slots=True)
class Registries:
    sources: Kept[SourceDraft, DataSource]
    queries: Kept[PrebuiltQuery, PrebuiltQuery]
    actions: Kept[ActionDefinition, ActionDefinition]
    secrets: Secrets
