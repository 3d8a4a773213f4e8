"""The one place where everything is put together: plain constructor calls, no globals."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from secrets import token_bytes
from urllib.parse import urlsplit

import httpx
import structlog
from prometheus_client import CollectorRegistry, Info, PlatformCollector, ProcessCollector
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from muster.api.auth import Authenticator, OidcVerifier, TokenUses, TokenVerifier, noting
from muster.api.auth.loopback import is_loopback_host
from muster.api.create import create_api
from muster.api.event_stream import Streams
from muster.api.frame import Access, logged
from muster.api.metrics import TriggerMetrics
from muster.api.parts import Parts
from muster.api.rates import Rates
from muster.api.topics import ExecutionsTopic
from muster.app.bus import consuming_events, opened_bus
from muster.app.cache import shared_cache
from muster.app.catalogue import catalogue_with
from muster.app.clocks import common_clock
from muster.app.data import data_parts
from muster.app.engine import CommitMetrics, running_engine
from muster.app.engine_metrics import EngineMetrics, InstanceMetrics, ScheduleMetrics
from muster.app.event_waits import callback_secrets, meeting, wait_for_events
from muster.app.health import checks
from muster.app.network import database_hosts, network_effects, web_client, whatsapp_hook
from muster.app.plugins import PluginError, load_plugins
from muster.app.self_check import checking_itself
from muster.app.settings import Settings
from muster.app.wait_metrics import WaitMetrics, counting_waits
from muster.app.watched_database import WatchedDatabase
from muster.definitions.library import Library
from muster.definitions.limits import Limits
from muster.definitions.trigger_library import TriggerLibrary
from muster.engine.bus import BadClient, Bus
from muster.engine.control import Control
from muster.engine.following import Following
from muster.engine.handlers import Handlers, for_every_type
from muster.engine.message_triggers import MessageTriggers
from muster.engine.observer import EXECUTIONS, Announcing, Several
from muster.engine.trigger_cache import KeptStartables
from muster.engine.triggering import Triggering
from muster.kit.changes import Changes
from muster.kit.clock import Clock, SystemClock
from muster.kit.ids import Ids, TimeOrderedIds
from muster.nodes import pure_handlers, wait_handlers
from muster.nodes.approving import Approving
from muster.nodes.event_messages import WaitMessages
from muster.nodes.event_waiting import EventWaiting
from muster.plugin.calling import Threads
from muster.plugin.registry import Plugged
from muster.store.address import SQLITE, BadAddress, masked, parse_address
from muster.store.applying import Applying
from muster.store.approvals import ApprovalRepository
from muster.store.audit import AuditLog
from muster.store.business_keys import BusinessKeys
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.deliveries import DeliveryRepository
from muster.store.event_wait_lists import EventWaitLists
from muster.store.event_wait_records import EventWaitRepository
from muster.store.failures import reason
from muster.store.folder import DataFolder, FolderTaken
from muster.store.instances import InstanceRepository
from muster.store.migrations.runner import (
    MigrationFailed,
    NewerSchema,
    migrate,
    pending,
    revisions,
)
from muster.store.open import ANSWER_SECONDS, FILE_NAME, open_database
from muster.store.sightings import ExecutionSightings
from muster.store.templates import TemplateRepository
from muster.store.tokens import TokenRepository
from muster.store.triggers import TriggerRepository
from muster.store.vault import BadKey, Vault
from muster.store.workflows import WorkflowRepository

_log = structlog.get_logger("muster.build")

ANY_TIME = None  # what changing a large table may take


class CannotOpen(Exception):
    """What the settings ask for is not to be had; one sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The database and what is kept in it."""

    database: Database
    workflows: WorkflowRepository
    templates: TemplateRepository
    tokens: TokenRepository


@dataclass(frozen=True, slots=True)
class House:
    """A built application. `retire` says that its end is near: it takes no further work."""

    api: ASGIApp
    library: Library
    control: Control
    following: Following
    retire: Callable[[], None]


@asynccontextmanager
async def opened(
    settings: Settings, clock: Clock | None = None, ids: Ids | None = None, access: Access = logged
) -> AsyncIterator[House]:
    """Open, migrate and wire everything; close it again at the end. `access` hears of every request. Raises
    `CannotOpen`."""
    machine = clock or SystemClock()
    audience = _audience(settings)
    async with AsyncExitStack() as stack:
        threads = Threads()
        stack.callback(threads.close)
        plugged = plugged_in(settings, threads)
        file = sqlite_file(settings)
        if file is not None:
            stack.enter_context(_claimed(file.parent))
        async with _database(settings, ANY_TIME) as migrating:
            await migrated(migrating)
        database = WatchedDatabase(await stack.enter_async_context(_database(settings)))
        clock = await stack.enter_async_context(common_clock(database, machine))
        ids = ids or TimeOrderedIds(clock)
        storage = _storage(database, clock)
        vault = vault_of(settings)
        catalogue = catalogue_with(plugged, can_sign=vault is not None)
        data = await stack.enter_async_context(
            data_parts(
                database,
                clock,
                vault,
                settings.data_dir,
                file,
                database_hosts(settings),
                plugged,
            )
        )
        limits = Limits(bytes=settings.api.body_limit)
        kept_triggers = TriggerRepository(database, clock, vault)
        startables = KeptStartables(kept_triggers, time.monotonic)
        library = Library(
            storage.workflows,
            storage.templates,
            catalogue,
            ids,
            limits,
            registered=data.registered,
            changed=startables.forget,
        )
        uses = TokenUses(storage.tokens.touch, clock)
        await stack.enter_async_context(noting(uses, (Unavailable, CommitUnknown)))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=10.0, follow_redirects=False))
        registry = _registry(settings)
        observe = CommitMetrics(registry).observe
        committer = starts = GroupCommitter(database, observe=observe)
        stack.push_async_callback(committer.close)
        if database.dialect_name == "postgresql":
            # Who begins waits for nothing that others write: two transactions are under way at once.
            starts = GroupCommitter(database, observe=observe)
            stack.push_async_callback(starts.close)
        bus = await stack.enter_async_context(_bus(settings, database, committer, ids))
        deliveries = DeliveryRepository(database, committer)
        web = await stack.enter_async_context(web_client(settings))
        effects = await stack.enter_async_context(
            network_effects(settings, web, deliveries, storage.templates)
        )
        wait_metrics = WaitMetrics(registry)
        event_waits = EventWaitRepository(database, committer, settings.instance_id)
        handlers = for_every_type(
            Handlers(
                {**effects, **data.effects, **plugged.effects},
                {**pure_handlers(), **plugged.pures},
                {**wait_handlers(), **plugged.waits},
                {"WAIT_EVENTS": wait_for_events(settings, web, event_waits, wait_metrics)},
            ),
            catalogue.node_types,
        )
        metrics = EngineMetrics(registry)
        metrics.committing(lambda: committer.waiting)
        changes, streams = Changes(), Streams(settings.api.streams)
        instances = InstanceRepository(database)
        shared = await stack.enter_async_context(shared_cache(settings.redis, registry))
        engine = await stack.enter_async_context(
            running_engine(
                settings,
                database,
                committer,
                starts,
                bus,
                storage.workflows,
                library,
                catalogue,
                handlers,
                data.secrets,
                clock,
                ids,
                Several(Announcing(changes), metrics),
                ScheduleMetrics(registry),
                instances,
                InstanceMetrics(registry).tell,
                shared,
            )
        )
        if "engine" in settings.roles:
            await stack.enter_async_context(checking_itself(database, registry))
            await stack.enter_async_context(counting_waits(EventWaitLists(database), registry))
        metrics.driving(engine.driving)
        triggering = Triggering(startables, engine.control, TriggerMetrics(registry).told)
        waiting = EventWaiting(
            event_waits,
            EventWaitLists(database),
            Applying(database, settings.instance_id),
            engine.actions.retry,
            engine.control.look_now,
            wait_metrics,
        )
        keyed = BusinessKeys(database, settings.instance_id)
        wait_messages = WaitMessages(waiting, event_waits, keyed, limits, clock)
        if "engine" in settings.roles:
            await stack.enter_async_context(meeting(keyed, engine.control.look_now))
        consumer = await stack.enter_async_context(
            consuming_events(
                settings,
                bus,
                # In this order: who waits for a message comes before what it starts.
                [wait_messages, MessageTriggers(startables, triggering, clock)],
                [wait_messages.topics, kept_triggers.topics],
                database,
                clock,
                registry,
            )
        )
        verifier = _verifier(settings, audience, http, clock)
        tokens = TokenVerifier(storage.tokens.find, clock, uses.note)
        parts = Parts(
            version=version("muster"),
            library=library,
            control=engine.control,
            following=engine.following,
            topics={EXECUTIONS: ExecutionsTopic(ExecutionSightings(database))},
            streams=streams,
            changes=changes,
            actions=engine.actions,
            letters=engine.letters,
            bulk=engine.bulk,
            scheduling=engine.scheduling,
            deliveries=deliveries,
            whatsapp=whatsapp_hook(settings.whatsapp),
            node_types=catalogue.node_types,
            tokens=storage.tokens,
            audit=AuditLog(database),
            registries=data.registries,
            instances=instances,
            approving=Approving(ApprovalRepository(database), engine.control.look_now),
            waiting=waiting,
            callback_secrets=callback_secrets(settings.callbacks),
            bus=bus,
            triggers=TriggerLibrary(kept_triggers, library, ids, token_bytes, startables.forget),
            triggering=triggering,
            authenticator=Authenticator(tokens, verifier, settings.insecure),
            rates=Rates(settings.api.rate_limit, time.monotonic),
            registry=registry,
            checks=checks(database, verifier, shared, bus if settings.kafka.bootstrap_servers else None),
            clock=clock,
            ids=ids,
            unavailable=(Unavailable,),
            unknown=(CommitUnknown,),
            body_limit=settings.api.body_limit,
            body_timeout=settings.api.body_timeout,
            metrics_open=settings.oidc.issuer_uri is None and is_loopback_host(settings.host),
            access=access,
            web="web" in settings.roles,
        )

        def retire() -> None:
            consumer.retire()
            engine.retire()
            streams.close()

        yield House(create_api(parts), library, engine.control, engine.following, retire)


@asynccontextmanager
async def opened_storage(settings: Settings) -> AsyncIterator[Storage]:
    """The database as it is, beside a server that may be running on it. Raises `CannotOpen`."""
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        raise CannotOpen(f"There is no database at {file} yet: `muster serve` or `muster migrate` makes one.")
    async with _database(settings) as database:
        if await _pending(settings, database):
            raise CannotOpen("The database is not up to date: `muster migrate` brings it there.")
        yield _storage(database, SystemClock())


async def missing_revisions(settings: Settings) -> list[str]:
    """What `migrated` would make. Looks beside a server that may be running, and makes and claims nothing.

    Raises `CannotOpen`.
    """
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        return list(revisions())
    async with _database(settings) as database:
        return await _pending(settings, database)


async def _pending(settings: Settings, database: Database) -> list[str]:
    try:
        return await pending(database)
    except (Unavailable, NewerSchema) as error:
        raise _cannot_open(settings, str(error)) from error
    except SQLAlchemyError as error:
        raise _cannot_open(settings, reason(error)) from error


@asynccontextmanager
async def opened_for_migration(settings: Settings) -> AsyncIterator[Database]:
    """The database, whatever state it is in; on SQLite, nobody else's meanwhile. Raises `CannotOpen`."""
    async with AsyncExitStack() as stack:
        file = sqlite_file(settings)
        if file is not None:
            stack.enter_context(_claimed(file.parent))
        yield await stack.enter_async_context(_database(settings, ANY_TIME))


async def migrated(database: Database) -> list[str]:
    """Bring the schema up to date, and say which revisions that took. Raises `CannotOpen`."""
    try:
        made = await migrate(database)
    except Unavailable as error:
        raise CannotOpen(f"The database cannot be reached, or not be written: {error}.") from error
    except CommitUnknown as error:
        raise CannotOpen(f"The database left while it was brought up to date: {error}.") from error
    except (MigrationFailed, NewerSchema) as error:
        raise CannotOpen(f"The database cannot be used: {error}.") from error
    except SQLAlchemyError as error:
        raise CannotOpen(f"The database cannot be used: {reason(error)}.") from error
    if made:
        _log.info("migrated", revisions=made)
    return made


def plugged_in(settings: Settings, threads: Threads) -> Plugged:
    """What plug-ins add. Raises `CannotOpen`."""
    try:
        return load_plugins(settings.plugins, threads)
    except PluginError as error:
        raise CannotOpen(str(error)) from error


def sqlite_file(settings: Settings) -> Path | None:
    """Where SQLite's file is; None if the database is another."""
    if settings.database.url is None:
        return settings.data_dir / FILE_NAME
    try:
        address = parse_address(settings.database.url.get_secret_value())
    except BadAddress as error:
        raise CannotOpen(f"{error}.") from None
    return Path(address.database) if address.drivername == SQLITE and address.database else None


def database_name(settings: Settings) -> str:
    """Where the data is, for people; without its password."""
    url = settings.database.url
    return f"SQLite in {settings.data_dir / FILE_NAME}" if url is None else masked(url.get_secret_value())


@asynccontextmanager
async def _bus(
    settings: Settings, database: Database, committer: GroupCommitter, ids: Ids
) -> AsyncIterator[Bus]:
    try:
        async with opened_bus(settings, database, committer, ids) as bus:
            yield bus
    except BadClient as error:
        raise CannotOpen(f"Kafka's client cannot be made as `kafka.client` says: {error}.") from None


def _claimed(folder: Path) -> DataFolder:
    try:
        return DataFolder.claim(folder)
    except FolderTaken as error:
        raise CannotOpen(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    except OSError as error:
        raise CannotOpen(f"The data folder {folder} cannot be used: {error.strerror}.") from error


@asynccontextmanager
async def _database(
    settings: Settings, answer_seconds: float | None = ANSWER_SECONDS
) -> AsyncIterator[Database]:
    url, password = settings.database.url, settings.database.password
    try:
        database = open_database(
            url.get_secret_value() if url else None,
            user=settings.database.user,
            password=password.get_secret_value() if password else None,
            data_dir=settings.data_dir,
            answer_seconds=answer_seconds,
        )
    except BadAddress as error:
        raise CannotOpen(f"{error}.") from None
    except OSError as error:
        raise CannotOpen(f"{database_name(settings)} cannot be opened: {error.strerror}.") from error
    try:
        yield database
    finally:
        await database.close()


def vault_of(settings: Settings) -> Vault | None:
    """What secrets are encrypted with; None: there is no key. Raises `CannotOpen`."""
    key = settings.secret_key
    try:
        return None if key is None else Vault.of(key.get_secret_value())
    except BadKey as error:
        raise CannotOpen(f"{error}.") from None


def _storage(database: Database, clock: Clock) -> Storage:
    return Storage(
        database,
        WorkflowRepository(database, clock),
        TemplateRepository(database, clock),
        TokenRepository(database, clock),
    )


def _audience(settings: Settings) -> str | None:
    """Whom tokens must be meant for; None: there is no provider. Raises `CannotOpen`."""
    oidc = settings.oidc
    if not oidc.issuer_uri:
        return None
    if not _is_web_address(oidc.issuer_uri):
        raise CannotOpen("OIDC_ISSUER_URI is no address, such as https://id.example.org/realm.")
    audience = oidc.audience or oidc.client_id
    if not audience:
        raise CannotOpen(
            "OIDC_ISSUER_URI is set, but neither OIDC_AUDIENCE nor OIDC_CLIENT_ID: "
            "without an audience, any token of that issuer would do."
        )
    return audience


def _is_web_address(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname)


def _verifier(
    settings: Settings, audience: str | None, http: httpx.AsyncClient, clock: Clock
) -> OidcVerifier | None:
    oidc = settings.oidc
    if not oidc.issuer_uri or audience is None:
        return None
    return OidcVerifier(oidc.issuer_uri, audience, oidc.roles_claim, http, clock, oidc.institute_claim)


def _registry(settings: Settings) -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    Info("muster", "This instance.", registry=registry).info(
        {"version": version("muster"), "instance": settings.instance_id}
    )
    return registry


def _cannot_open(settings: Settings, why: str) -> CannotOpen:
    return CannotOpen(f"{database_name(settings)} cannot be used: {why}.")
