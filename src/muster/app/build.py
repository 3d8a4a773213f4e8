"""The one place where everything is put together: plain constructor calls, no globals."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version

from starlette.types import ASGIApp

from muster.api.auth.loopback import is_loopback_host
from muster.api.board_topic import WALLBOARD, BoardTopic
from muster.api.create import create_api
from muster.api.event_stream import Streams
from muster.api.frame import Access, logged
from muster.api.pages.console import Console
from muster.api.parts import Parts
from muster.api.rates import Rates
from muster.api.topics import ExecutionsTopic
from muster.app.authentication import audience_of, authentication
from muster.app.cache import shared_cache
from muster.app.commands import commands_of
from muster.app.definitions import opened_definitions
from muster.app.engine import running_engine
from muster.app.engine_metrics import EngineMetrics
from muster.app.event_waits import callback_secrets, receptions_of
from muster.app.external_tasks import Offers, offering_tasks
from muster.app.ground import opened_ground
from muster.app.health import checks
from muster.app.incoming import taking_in
from muster.app.network import whatsapp_hook
from muster.app.node_handlers import opened_handlers
from muster.app.notifying import notifying
from muster.app.plugins import PluginError, load_plugins
from muster.app.publishing import publishing
from muster.app.schemas import opened_schemas
from muster.app.self_check import checking_itself
from muster.app.settings import Settings
from muster.app.storage import CannotOpen
from muster.app.tracing import opened_tracer
from muster.app.wait_metrics import WaitMetrics
from muster.app.watched import watched_parts
from muster.app.watching import opened_watching
from muster.definitions.library import Library
from muster.engine.control import Control
from muster.engine.following import Following
from muster.engine.observer import EXECUTIONS, Announcing, Observer, Several
from muster.engine.spans import SpanObserver
from muster.kit.changes import Changes
from muster.kit.clock import Clock, SystemClock
from muster.kit.ids import Ids
from muster.nodes.approving import Approving
from muster.plugin.calling import Threads
from muster.plugin.registry import Plugged
from muster.store.approvals import ApprovalRepository
from muster.store.audit import AuditLog
from muster.store.command_lists import CommandLists
from muster.store.database import CommitUnknown, Unavailable
from muster.store.deliveries import DeliveryRepository
from muster.store.event_wait_records import EventWaitRepository
from muster.store.instances import InstanceRepository
from muster.store.outbox_lists import OutboxLists
from muster.store.outbox_renewal import StreamRenewal
from muster.store.sightings import ExecutionSightings


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
    audience = audience_of(settings)
    async with AsyncExitStack() as stack:
        threads = Threads()
        stack.callback(threads.close)
        plugged = plugged_in(settings, threads)
        ground = await stack.enter_async_context(opened_ground(settings, clock or SystemClock(), ids))
        tracer = await stack.enter_async_context(opened_tracer(settings, os.environ))
        schemas = await stack.enter_async_context(opened_schemas(settings))
        definitions = await stack.enter_async_context(
            opened_definitions(ground, plugged, schemas.compatibility.problems)
        )
        storage = definitions.storage
        callers = await stack.enter_async_context(
            authentication(settings, audience, storage.tokens, ground.clock)
        )
        database, committer, registry = ground.database, ground.committer, ground.registry
        deliveries = DeliveryRepository(database, committer)
        wait_metrics = WaitMetrics(registry)
        receptions = receptions_of(ground)
        event_waits = EventWaitRepository(database, receptions)
        commands = commands_of(ground, schemas.messages)
        handlers = await stack.enter_async_context(
            opened_handlers(ground, definitions, plugged, deliveries, event_waits, commands)
        )
        metrics = EngineMetrics(registry)
        metrics.committing(lambda: committer.waiting)
        changes, streams = Changes(), Streams(settings.api.streams)
        instances = InstanceRepository(database)
        shared = await stack.enter_async_context(shared_cache(settings.redis, registry))
        offers = Offers()
        observers: list[Observer] = [Announcing(changes), metrics, wait_metrics, offers]
        if tracer is not None:
            observers.append(SpanObserver(tracer, ground.clock))
        engine = await stack.enter_async_context(
            running_engine(
                ground,
                definitions,
                handlers,
                Several(*observers),
                instances,
                schemas.messages,
                shared,
                tracer,
            )
        )
        metrics.driving(engine.driving)
        receptions.hand_to(engine.taker)
        if ground.has_engine:
            await stack.enter_async_context(checking_itself(database, registry))
        incoming = await stack.enter_async_context(
            taking_in(ground, definitions, engine, event_waits, wait_metrics, commands, tracer)
        )
        watching = await stack.enter_async_context(opened_watching(ground, tracer))
        await stack.enter_async_context(publishing(ground, commands.senders))
        working = await stack.enter_async_context(offering_tasks(database, offers, engine.control.look_now))
        watched = watched_parts(ground, watching.due.give_up)
        if "watch" in settings.roles:
            await stack.enter_async_context(
                notifying(ground, incoming.triggering, definitions.stored_startables.of_alerts)
            )
        parts = Parts(
            version=version("muster"),
            library=definitions.library,
            control=engine.control,
            following=engine.following,
            topics={
                EXECUTIONS: ExecutionsTopic(ExecutionSightings(database)),
                WALLBOARD: BoardTopic(watched.wallboard),
            },
            streams=streams,
            changes=changes,
            actions=engine.actions,
            letters=engine.letters,
            bulk=engine.bulk,
            scheduling=engine.scheduling,
            deliveries=deliveries,
            whatsapp=whatsapp_hook(settings.whatsapp),
            node_types=definitions.catalogue.node_types,
            tokens=storage.tokens,
            audit=AuditLog(database),
            registries=definitions.data.registries,
            instances=instances,
            approving=Approving(ApprovalRepository(database), engine.control.look_now),
            waiting=incoming.waiting,
            working=working,
            callback_secrets=callback_secrets(settings.callbacks),
            bus=ground.bus,
            intake=watching.intake,
            outbox=OutboxLists(database),
            renewal=StreamRenewal(database, ground.written.tell),
            commands=CommandLists(database),
            triggers=definitions.triggers,
            triggering=incoming.triggering,
            watched=watched,
            authenticator=callers.authenticator,
            rates=Rates(settings.api.rate_limit, time.monotonic),
            registry=registry,
            checks=checks(
                database, callers.provider, shared, ground.bus if settings.kafka.bootstrap_servers else None
            ),
            clock=ground.clock,
            ids=ground.ids,
            unavailable=(Unavailable,),
            unknown=(CommitUnknown,),
            body_limit=settings.api.body_limit,
            body_timeout=settings.api.body_timeout,
            console=Console(issuer=settings.oidc.issuer_uri, client_id=settings.oidc.client_id),
            metrics_open=settings.oidc.issuer_uri is None and is_loopback_host(settings.host),
            access=access,
            web="web" in settings.roles,
        )

        def retire() -> None:
            incoming.retire()
            watching.retire()
            engine.retire()
            streams.close()
            working.close()

        yield House(create_api(parts), definitions.library, engine.control, engine.following, retire)


def plugged_in(settings: Settings, threads: Threads) -> Plugged:
    """What plug-ins add. Raises `CannotOpen`."""
    try:
        return load_plugins(settings.plugins, threads)
    except PluginError as error:
        raise CannotOpen(str(error)) from error
