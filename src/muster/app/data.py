"""Queries, actions, data sources and secrets, put together."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.api.registry_parts import Registries
from muster.engine.handlers import Effect
from muster.kit.clock import Clock
from muster.nodes.action import Action
from muster.nodes.data_ports import Hosts
from muster.nodes.query import Query
from muster.plugin.registry import Plugged
from muster.store.database import Database
from muster.store.queries import ActionRepository, QueryRepository, RegisteredRepository
from muster.store.secrets import RevealedSecrets, SecretRepository
from muster.store.sources import SourceRepository
from muster.store.sql_runner import SqlRunner
from muster.store.vault import Vault


@dataclass(frozen=True, slots=True)
class DataParts:
    registries: Registries
    registered: RegisteredRepository
    effects: Mapping[str, Effect]
    secrets: RevealedSecrets


@asynccontextmanager
async def data_parts(
    database: Database,
    clock: Clock,
    vault: Vault | None,
    folder: Path,
    own: Path | None,
    hosts: Hosts,
    plugged: Plugged,
) -> AsyncIterator[DataParts]:
    """What runs on other databases; their pools are closed at the end. What plug-ins add comes first, and
    nobody can register anything under its keys."""
    sources = SourceRepository(database, clock, vault, folder, own, hosts)
    registered = RegisteredRepository(database, plugged.sql_queries)
    secrets = SecretRepository(database, clock, vault)
    registries = Registries(
        sources,
        QueryRepository(database, clock, frozenset(plugged.result_keys)),
        ActionRepository(database, clock, frozenset(plugged.actions)),
        secrets,
    )
    runner = SqlRunner(sources, clock)
    effects: dict[str, Effect] = {
        "QUERY": Query(registered, runner, plugged.queries, plugged.result_keys),
        "ACTION": Action(registered, runner, plugged.actions),
    }
    try:
        yield DataParts(registries, registered, effects, RevealedSecrets(secrets, clock))
    finally:
        await runner.close()
