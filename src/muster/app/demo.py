"""The demo, loaded on request: its database in the data folder, its queries and actions registered, its
workflows saved."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from muster.app.catalogue import catalogue_with
from muster.app.demo_workflows import demo_workflows
from muster.definitions.library import Library
from muster.definitions.ports import Taken
from muster.kit.clock import Clock
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.model.registered import SourceDraft
from muster.model.stored import AuditEntry
from muster.nodes.demo import SOURCE, demo_actions, demo_queries
from muster.plugin.registry import Plugged
from muster.store.database import Database
from muster.store.demo_database import FILE_NAME, make_demo_database
from muster.store.queries import ActionRepository, QueryRepository, RegisteredRepository
from muster.store.sources import SourceRepository
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository


async def load_demo(database: Database, clock: Clock, folder: Path, actor: str) -> list[str]:
    """Make and register what is missing of the demo, and name it. What is there already stays as it is, so a
    second time does nothing."""
    registered = await _register(database, clock, folder, actor)
    return registered + await _save_workflows(database, clock, actor)


async def _register(database: Database, clock: Clock, folder: Path, actor: str) -> list[str]:
    now = clock.now()
    await asyncio.to_thread(make_demo_database, folder, now.date())
    sources = SourceRepository(database, clock, None, folder)
    queries, actions = QueryRepository(database, clock), ActionRepository(database, clock)
    # From the data folder on, wherever that is for whoever runs on it.
    draft = SourceDraft(SOURCE, "", f"sqlite:///{FILE_NAME}", may_use_files=True)
    made = [await _made(f"data source {SOURCE}", sources.create(draft, _audit("data_source", SOURCE, actor)))]
    for query in demo_queries(now):
        audit = _audit("prebuilt_query", query.key, actor)
        made.append(await _made(f"query {query.key}", queries.create(query, audit)))
    for action in demo_actions(now):
        audit = _audit("action_definition", action.key, actor)
        made.append(await _made(f"action {action.key}", actions.create(action, audit)))
    return [name for name in made if name is not None]


async def _save_workflows(database: Database, clock: Clock, actor: str) -> list[str]:
    library = Library(
        WorkflowRepository(database, clock),
        TemplateRepository(database, clock),
        catalogue_with(Plugged()),
        TimeOrderedIds(clock),
        registered=RegisteredRepository(database),
    )
    caller = Caller(actor, frozenset({Role.ADMIN}), None, How.LOOPBACK)
    made = [
        await _made(f"workflow {key}", library.create(document, caller))
        for key, document in demo_workflows().items()
    ]
    return [name for name in made if name is not None]


async def _made(name: str, creating: Awaitable[object]) -> str | None:
    """The name of what was made; None: it was there already."""
    try:
        await creating
    except Taken:
        return None
    return name


def _audit(kind: str, key: str, actor: str) -> AuditEntry:
    return AuditEntry(kind, key, "create", actor, "", {"by": "demo load"})
