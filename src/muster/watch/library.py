"""The library of watched workflows: documents become versions, and the newest is the one that watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from muster.definitions.document import checksum
from muster.definitions.library import Invalid, NotFound
from muster.definitions.names import KEY, KEY_RULE
from muster.kit.ids import Ids
from muster.model.access import Caller
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem
from muster.model.stored import AuditEntry, Page, Version, Workflow
from muster.model.watching import WatchedGraph
from muster.watch.graph import Reading, read_graph


@dataclass(frozen=True, slots=True)
class NewWatched:
    """A version about to be written. `document` is what its author wrote."""

    name: str
    description: str | None
    institute_id: str
    graph: WatchedGraph
    document: JsonObject
    checksum: str
    created_by: str


class WatchedStore(Protocol):
    """Watched workflows as they are kept. What was made is active at once."""

    async def create(
        self, workflow_id: str, key: str, new: NewWatched, audit: AuditEntry
    ) -> tuple[Workflow, Version]:
        """Version 1. Raises `Taken` if the tenant has the key already."""
        ...

    async def add_version(
        self, workflow_id: str, new: NewWatched, expected: int | None, audit: AuditEntry
    ) -> Version | None:
        """The next version, active. Raises `Stale` if `expected` is not the latest; None: there is no such
        workflow."""
        ...

    async def get(self, institute_id: str | None, id_or_key: str) -> Workflow | None: ...

    async def version_of(self, institute_id: str | None, version_id: int) -> tuple[Workflow, Version] | None:
        """By a version's own id: also one that Muster runs, if its executions are watched."""
        ...

    async def list(
        self, institute_id: str | None, page: Page, query: str | None
    ) -> tuple[Sequence[Workflow], str | None]: ...

    async def version(self, workflow_id: str, number: int) -> Version | None: ...

    async def versions(self, workflow_id: str, page: Page) -> tuple[Sequence[Version], str | None]: ...


@dataclass(frozen=True, slots=True)
class SavedWatched:
    workflow: Workflow
    version: Version
    warnings: tuple[Problem, ...]


class WatchedLibrary:
    """`changed` hears that graphs have changed."""

    def __init__(self, store: WatchedStore, ids: Ids, changed: Callable[[], None] = lambda: None) -> None:
        self._store, self._ids, self._changed = store, ids, changed

    def validate(self, document: Json) -> Reading:
        """All that is wrong with a document: its key, too, where it has one."""
        reading = read_graph(document)
        flaws = tuple(_bad_key(document))
        return Reading(None if flaws else reading.graph, (*reading.problems, *flaws))

    async def create(self, document: Json, actor: Caller) -> SavedWatched:
        """Raises `Invalid`, or `Taken` for a key that is in use."""
        graph, told, warnings = self._sound(document, actor)
        key = str(told["key"])
        new = _new(told, key, graph, _tenant(told, actor), actor)
        workflow_id = self._ids.new()
        audit = AuditEntry("workflow", workflow_id, "create", actor.name, new.institute_id, {"key": key})
        workflow, version = await self._store.create(workflow_id, key, new, audit)
        self._changed()
        return SavedWatched(workflow, version, warnings)

    async def replace(
        self, key: str, document: Json, actor: Caller, expected: int | None = None
    ) -> SavedWatched:
        """A further version, active at once: what began on another ends there. Raises `NotFound`, `Invalid`,
        and `Stale` if `expected` is not the latest any more."""
        workflow = await self.workflow(key, actor)
        if isinstance(document, dict):
            document = {"key": workflow.key, **document}
        graph, told, warnings = self._sound(document, actor)
        if told["key"] != workflow.key:
            message = f"The workflow's key is `{workflow.key}`, and stays."
            raise Invalid([Problem("KEY_CHANGED", "/key", message)])
        new = _new(told, workflow.name, graph, workflow.institute_id, actor)
        audit = AuditEntry("workflow", workflow.id, "update", actor.name, workflow.institute_id)
        version = await self._store.add_version(workflow.id, new, expected, audit)
        if version is None:
            raise _none(key)
        self._changed()
        return SavedWatched(await self.workflow(workflow.id, actor), version, warnings)

    async def list(
        self, actor: Caller, page: Page, query: str | None = None
    ) -> tuple[Sequence[Workflow], str | None]:
        return await self._store.list(actor.institute_id, page, query)

    async def get(self, key: str, actor: Caller) -> tuple[Workflow, Version]:
        """A workflow and its newest version. Raises `NotFound`."""
        workflow = await self.workflow(key, actor)
        return workflow, await self.version(workflow, workflow.latest_version)

    async def version(self, workflow: Workflow, number: int) -> Version:
        """Raises `NotFound`."""
        version = await self._store.version(workflow.id, number)
        if version is None:
            raise NotFound(f"The workflow {workflow.key!r} has no version {number}")
        return version

    async def versions(self, key: str, actor: Caller, page: Page) -> tuple[Sequence[Version], str | None]:
        return await self._store.versions((await self.workflow(key, actor)).id, page)

    async def workflow(self, key: str, actor: Caller) -> Workflow:
        """By its key, or its id. Raises `NotFound`."""
        workflow = await self._store.get(actor.institute_id, key)
        if workflow is None:
            raise _none(key)
        return workflow

    async def by_version(self, version_id: int, actor: Caller) -> tuple[Workflow, Version]:
        """Raises `NotFound`."""
        found = await self._store.version_of(actor.institute_id, version_id)
        if found is None:
            raise NotFound(f"There is no version {version_id} of a watched workflow")
        return found

    def _sound(self, document: Json, actor: Caller) -> tuple[WatchedGraph, JsonObject, tuple[Problem, ...]]:
        reading = self.validate(document)
        problems = [*reading.errors, *_foreign(document, actor)]
        if reading.graph is None or problems or not isinstance(document, dict):
            raise Invalid(problems)
        return reading.graph, document, reading.problems


def _new(told: JsonObject, name: str, graph: WatchedGraph, institute_id: str, actor: Caller) -> NewWatched:
    description = told.get("description")
    return NewWatched(
        name=str(told.get("name") or name),
        description=description if isinstance(description, str) else None,
        institute_id=institute_id,
        graph=graph,
        document=told,
        checksum=checksum(told),
        created_by=str(told.get("createdBy") or actor.name),
    )


def _tenant(told: JsonObject, actor: Caller) -> str:
    return actor.institute_id if actor.institute_id is not None else str(told.get("instituteId") or "")


# `/workflows/validate` is no workflow's address.
_RESERVED = "validate"


def _bad_key(document: Json) -> Sequence[Problem]:
    key = document.get("key") if isinstance(document, dict) else None
    if isinstance(key, str) and key and KEY.fullmatch(key) is None:
        return [Problem("INVALID_KEY", "/key", f"A key has {KEY_RULE}.")]
    if key == _RESERVED:
        message = f"`{key}` is a path of the API, so no watched workflow can have it as its key."
        return [Problem("RESERVED_KEY", "/key", message, suggestion=f"how about `{key}-workflow`?")]
    return []


def _foreign(document: Json, actor: Caller) -> Sequence[Problem]:
    said = document.get("instituteId") if isinstance(document, dict) else None
    if actor.institute_id is None or said in (None, "", actor.institute_id):
        return []
    message = f"You act for `{actor.institute_id}`, and cannot save for `{said}`."
    return [Problem("FOREIGN_TENANT", "/instituteId", message)]


def _none(key: str) -> NotFound:
    return NotFound(f"There is no watched workflow {key[:200]!r}")
