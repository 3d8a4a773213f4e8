"""What the edge is given: use cases and ports, made by whoever builds the application."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry

from muster.api.auth import Authenticator
from muster.api.auth.issuing import Tokens
from muster.api.event_stream import Streams
from muster.api.frame import Access, logged
from muster.api.pages.console import Console
from muster.api.rates import Rates
from muster.api.registry_parts import Registries
from muster.api.topics import Topic
from muster.api.watch_parts import Watched
from muster.definitions.library import Library
from muster.definitions.trigger_library import TriggerLibrary
from muster.engine.actions import Actions
from muster.engine.bulk import Bulk
from muster.engine.bus import Publisher
from muster.engine.control import Control
from muster.engine.following import Following
from muster.engine.instances import Instances
from muster.engine.letters import DeadLetters
from muster.engine.outbox import OutboxRecords, Renewal
from muster.engine.scheduling import Scheduling
from muster.engine.triggering import Triggering
from muster.kit.changes import Changes
from muster.kit.clock import Clock
from muster.kit.ids import Ids
from muster.model.json import JsonObject
from muster.model.node_type import NodeType
from muster.model.stored import AuditRecord, Page
from muster.nodes.approving import Approving
from muster.nodes.command_replies import CommandRecords
from muster.nodes.event_waiting import EventWaiting
from muster.nodes.ports import Channel, Delivery, DeliveryReport, DeliveryStatus, Reported
from muster.nodes.working import Working
from muster.watch.intake import Intake


class Audit(Protocol):
    async def list(
        self, institute_id: str | None, entity_type: str, entity_id: str, page: Page
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """What happened to one thing, newest first."""
        ...


class Outbox(Protocol):
    """Messages to people, and what became of them."""

    async def list(
        self,
        institute_id: str | None,
        page: Page,
        execution_id: str | None = None,
        channel: Channel | None = None,
        status: DeliveryStatus | None = None,
    ) -> tuple[Sequence[Delivery], str | None]: ...

    async def report(self, reports: Sequence[DeliveryReport]) -> Reported:
        """Note what a provider says. Durable when this returns; saying it again changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class WhatsAppHook:
    """How WhatsApp's reports are recognised; None: they are not expected."""

    verify_token: str | None = field(default=None, repr=False)
    app_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """How one dependency is. `degraded`: it is away, and its absence can be borne for now."""

    up: bool
    details: JsonObject
    degraded: bool = False


Check = Callable[[], Awaitable[Condition]]


@dataclass(frozen=True, slots=True)
class Parts:
    """Of `changes`, executions are told under their ids, and all of them under `executions`. `checks` are
    the dependencies by name. By `unavailable` exceptions the store says that nothing was written, by
    `unknown` ones that it may have been. With `callback_secrets`, callbacks are signed with one of them."""

    version: str
    library: Library
    control: Control
    following: Following
    topics: Mapping[str, Topic]
    streams: Streams
    changes: Changes
    actions: Actions
    letters: DeadLetters
    bulk: Bulk
    scheduling: Scheduling
    deliveries: Outbox
    whatsapp: WhatsAppHook
    node_types: Mapping[str, NodeType]
    tokens: Tokens
    audit: Audit
    registries: Registries
    instances: Instances
    approving: Approving
    waiting: EventWaiting
    working: Working
    commands: CommandRecords
    bus: Publisher
    intake: Intake
    outbox: OutboxRecords
    renewal: Renewal
    triggers: TriggerLibrary
    triggering: Triggering
    watched: Watched
    authenticator: Authenticator
    rates: Rates
    registry: CollectorRegistry
    checks: Mapping[str, Check]
    clock: Clock
    ids: Ids
    unavailable: tuple[type[Exception], ...]
    unknown: tuple[type[Exception], ...]
    body_limit: int
    body_timeout: float
    metrics_open: bool
    access: Access = logged
    callback_secrets: tuple[bytes, ...] = ()
    console: Console = field(default_factory=Console)
    web: bool = True


def parts_of(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


async def _given(request: Request) -> Parts:
    """Asynchronous, since the framework takes what is not to a thread and back."""
    return parts_of(request)


Given = Annotated[Parts, Depends(_given)]
