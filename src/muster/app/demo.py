"""The demo, loaded on request: its database in the data folder, and its queries and actions registered."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from urllib.parse import quote

from muster.definitions.ports import Taken
from muster.kit.clock import Clock
from muster.model.registered import SourceDraft
from muster.model.stored import AuditEntry
from muster.nodes.demo import SOURCE, demo_actions, demo_queries
from muster.store.database import Database
from muster.store.demo_database import make_demo_database
from muster.store.queries import ActionRepository, QueryRepository
from muster.store.sources import SourceRepository


async def load_demo(database: Database, clock: Clock, folder: Path, actor: str) -> list[str]:
    """Make and register what is missing of the demo, and name it. What is there already stays as it is, so a
    second time does nothing."""
    now = clock.now()
    path = await asyncio.to_thread(make_demo_database, folder, now.date())
    sources = SourceRepository(database, clock, None, folder)
    queries, actions = QueryRepository(database, clock), ActionRepository(database, clock)
    draft = SourceDraft(SOURCE, "", f"sqlite:///{quote(str(path))}", may_use_files=True)
    made = [await _made(f"data source {SOURCE}", sources.create(draft, _audit("data_source", SOURCE, actor)))]
    for query in demo_queries(now):
        audit = _audit("prebuilt_query", query.key, actor)
        made.append(await _made(f"query {query.key}", queries.create(query, audit)))
    for action in demo_actions(now):
        audit = _audit("action_definition", action.key, actor)
        made.append(await _made(f"action {action.key}", actions.create(action, audit)))
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
