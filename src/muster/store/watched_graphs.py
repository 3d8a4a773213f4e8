"""Which watched workflows events concern, as it is in the transaction that applies them."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, exists, or_, select

from muster.definitions.document import from_document
from muster.model.watching import Event, WatchedGraph
from muster.model.workflow import WorkflowKind, WorkflowStatus
from muster.store.tables import workflow, workflow_node, workflow_run, workflow_version
from muster.watch.graph import read_graph
from muster.watch.own import own_graph, own_step

N = workflow_node.c
R = workflow_run.c
V = workflow_version.c
W = workflow.c

log = logging.getLogger(__name__)

# Versions that have a node for one of these types, and are active or have runs that are not over.
_CONCERNED = (
    select(N.event_type, W.id, W.key, W.institute_id, W.active_version_id, V.id.label("version_id"))
    .join_from(workflow_node, workflow_version, V.id == N.workflow_version_id)
    .join(workflow, W.id == V.workflow_id)
    .where(
        N.event_type.in_(bindparam("types", expanding=True)),
        W.kind == WorkflowKind.WATCHED.value,
        W.status == WorkflowStatus.ACTIVE.value,
        or_(
            W.active_version_id == V.id,
            exists().where(R.workflow_version_id == V.id, R.finished_at.is_(None)),
        ),
    )
    .order_by(W.id, V.id)
)
_DEFINITIONS = (
    select(V.id, V.definition, W.kind, V.workflow_id, W.key, W.institute_id)
    .join_from(workflow_version, workflow, W.id == V.workflow_id)
    .where(V.id.in_(bindparam("ids", expanding=True)))
)


class Concern(NamedTuple):
    """A workflow that events of a type concern: the active version if it has a node for it, and earlier ones
    on which runs may still be under way, the newest first."""

    workflow_id: str
    key: str
    institute_id: str
    active: int | None
    earlier: tuple[int, ...]


class WatchedGraphs:
    """Graphs of versions, which never change, and who is concerned, which is looked up for each batch."""

    def __init__(self) -> None:
        self._graphs: dict[int, WatchedGraph] = {}
        # Versions that Muster runs, and watches itself by.
        self._own: dict[int, Concern] = {}
        self._unreadable: set[int] = set()

    def concerned(self, connection: Connection, types: Collection[str]) -> dict[str, list[Concern]]:
        """By type of event."""
        rows: Sequence[Any] = connection.execute(_CONCERNED, {"types": sorted(types)}).all()
        self.load(connection, {row.version_id for row in rows})
        found: dict[str, dict[str, list[Row[Any]]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            if row.version_id in self._graphs:
                found[row.event_type][row.id].append(row)
        return {
            event_type: [_concern(versions) for versions in by_workflow.values()]
            for event_type, by_workflow in found.items()
        }

    def load(self, connection: Connection, version_ids: Iterable[int]) -> None:
        missing = sorted(set(version_ids) - self._graphs.keys() - self._unreadable)
        if not missing:
            return
        for row in connection.execute(_DEFINITIONS, {"ids": missing}):
            is_own = row.kind == WorkflowKind.ORCHESTRATED.value
            graph = own_graph(from_document(row.definition)) if is_own else read_graph(row.definition).graph
            if graph is not None:
                self._graphs[row.id] = graph
                if is_own:
                    self._own[row.id] = Concern(row.workflow_id, row.key, row.institute_id, row.id, ())
                continue
            self._unreadable.add(row.id)
            if not is_own:
                log.error("version %s cannot be read, so nothing is watched by it", row.id)

    def own(self, connection: Connection, events: Iterable[Event]) -> dict[str, Concern]:
        """The versions that executions of ours are on which events tell of, by the executions' ids."""
        steps = {event.correlation_key: (event, step) for event in events if (step := own_step(event))}
        self.load(connection, {step.version_id for _, step in steps.values()})
        return {
            key: concern
            for key, (event, step) in steps.items()
            if (concern := self._own.get(step.version_id)) and concern.institute_id == event.institute_id
        }

    def graph(self, version_id: int) -> WatchedGraph:
        """Of a version that was loaded."""
        return self._graphs[version_id]

    def has(self, version_id: int) -> bool:
        return version_id in self._graphs

    @property
    def unreadable(self) -> Collection[int]:
        """Versions that were to be loaded, and cannot be read here."""
        return self._unreadable


def _concern(versions: Sequence[Row[Any]]) -> Concern:
    first = versions[0]
    ids = [row.version_id for row in versions]
    active = first.active_version_id if first.active_version_id in ids else None
    earlier = tuple(sorted((each for each in ids if each != active), reverse=True))
    return Concern(first.id, first.key, first.institute_id, active, earlier)


def meant(event: Event, concerns: Sequence[Concern]) -> list[Concern]:
    """Those of its tenant that the event names; if it names none, all of them."""
    return [
        each
        for each in concerns
        if each.institute_id == event.institute_id
        and (event.workflow_keys is None or each.key in event.workflow_keys)
    ]
