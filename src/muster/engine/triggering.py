"""Firing triggers: whether an event starts an execution, decided for each trigger on its own."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from muster.definitions.library import NotFound
from muster.definitions.pointers import child
from muster.engine.control import Control, Placed
from muster.engine.idempotency import BadExpression, MissingField, key_for
from muster.engine.view import Layered
from muster.expr import ExpressionError, Scope, compile_condition, compile_mapping, to_boolean
from muster.expr.paths import context_path
from muster.model.json import Json, JsonObject
from muster.model.once import Once, once
from muster.model.problems import AuthorError, Problem
from muster.model.trigger import Authentication, TriggerSettings

log = logging.getLogger(__name__)

PAYLOAD = "_trigger"
OF_EVENTS = ("eventType", "eventId")
# One sentence: whether there is none, or another tenant's, is not told.
NONE = "There is no such trigger"
# Longer than anybody goes on sending what was not taken.
DELIVERIES_KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Startable:
    """An active trigger of a workflow that can be started, and the version that it starts. `secrets` are what
    its requests may be signed with. `created_at` None: it has always been there."""

    id: str
    workflow_id: str
    version_id: int
    institute_id: str
    settings: TriggerSettings
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    created_at: datetime | None = None


class Startables(Protocol):
    """How triggers are found. One that is not active, or whose workflow is not, is the same as none."""

    async def by_id(self, trigger_id: str) -> Startable | None: ...

    async def by_path(self, path: str) -> Startable | None: ...

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        """Those of an event name, of one tenant or of all, the oldest first."""
        ...

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        """Those of a topic, of all tenants, the oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """What is offered to triggers: the context to start with, and the payload that it came in.

    `delivery` is what tells a request that was signed, or a message, from all others: however often it comes,
    it starts one execution. `pointer` is where in what was sent the context is. `received_at` is when it came
    here, if that is another time than `at`. `trace` is the `traceparent` that came with it.
    """

    context: JsonObject
    payload: JsonObject
    at: datetime
    name: str | None = None
    id: str | None = None
    delivery: str | None = None
    pointer: str = ""
    received_at: datetime | None = None
    trace: str | None = None


class Reason(StrEnum):
    """Why a trigger that was fired has started nothing."""

    DUPLICATE = "DUPLICATE"
    CONDITION_FALSE = "CONDITION_FALSE"
    EXPRESSION_ERROR = "EXPRESSION_ERROR"


@dataclass(frozen=True, slots=True)
class Fired:
    """`key` None: nothing is recognised as a repeat of it."""

    execution_id: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Of a duplicate, `execution_id` is that of the first."""

    reason: Reason
    execution_id: str | None = None


Decision: TypeAlias = Fired | Skipped
Told: TypeAlias = Callable[[str], None]


class Triggering:
    """`told` hears of each decision, in a word."""

    def __init__(self, startables: Startables, control: Control, told: Told) -> None:
        self._startables, self._control, self.told = startables, control, told

    async def by_id(self, trigger_id: str) -> Startable:
        """Raises `NotFound`."""
        return self._there(await self._startables.by_id(trigger_id))

    async def by_path(self, path: str) -> Startable:
        """Raises `NotFound`."""
        return self._there(await self._startables.by_path(path.strip("/")))

    def check_seen(self, trigger: Startable, institute_id: str | None) -> None:
        """Raises `NotFound` if a caller of this tenant does not see the trigger: the same as for none."""
        self._there(trigger if institute_id in (None, trigger.institute_id) else None)

    def _there(self, found: Startable | None) -> Startable:
        if found is None:
            self.told("not_found")
            raise NotFound(NONE)
        return found

    async def offer(self, institute_id: str | None, event: Event) -> Mapping[str, Decision | BaseException]:
        """Offer an event to all triggers of its name: by their ids, what each comes to, or what `fire` would
        have raised for it. Those that want a signature are not addressed by name. Raises `NotFound` if no
        trigger is."""
        found = await self._startables.by_event(institute_id, event.name or "")
        wanted = [trigger for trigger in found if trigger.settings.authentication is not Authentication.HMAC]
        if not wanted:
            self.told("not_found")
            raise NotFound("No trigger is there for this event")
        firing = (self.fire(trigger, event) for trigger in wanted)
        came = await asyncio.gather(*firing, return_exceptions=True)
        return {trigger.id: each for trigger, each in zip(wanted, came, strict=True)}

    async def fire(self, trigger: Startable, event: Event) -> Decision:
        """Durable when this returns. Raises `AuthorError` if a field that the key needs is missing, and
        whatever starting raises."""
        try:
            decision = await self._decided(trigger, event)
        except AuthorError:
            self.told("refused")
            raise
        self.told(decision.reason.lower() if isinstance(decision, Skipped) else "started")
        return decision

    async def _decided(self, trigger: Startable, event: Event) -> Decision:
        key = _key_if_wanted(trigger, event)
        if isinstance(key, Skipped):
            return key
        place = Placed(trigger.workflow_id, trigger.version_id, trigger.institute_id)
        context = {**event.context, PAYLOAD: event.payload}
        begun = await self._control.start_at(
            place, context, key, trigger.id, delivery_of(trigger, event), event.pointer, event.trace
        )
        if begun.duplicate:
            return Skipped(Reason.DUPLICATE, begun.id)
        return Fired(begun.id, None if key is None else key.key)


def _key_if_wanted(trigger: Startable, event: Event) -> Once | Skipped | None:
    """The key of what the event starts, if it has one; or why it starts nothing. Raises `AuthorError`."""
    try:
        if not holds(trigger, event):
            return Skipped(Reason.CONDITION_FALSE)
    except ExpressionError as error:
        return _skipped(trigger, f"Its condition: {error.message}")
    settings = trigger.settings
    name = event.name or settings.event_name
    match key_for(settings.idempotency, trigger.id, event.context, name, event.id, event.at):
        case MissingField() as missing:
            raise AuthorError(Problem("MISSING_FIELD", _place_of(missing.field, event), missing.message))
        case BadExpression() as bad:
            return _skipped(trigger, bad.message)
        case key:
            return None if key is None else key.within(trigger.institute_id, trigger.workflow_id)


def _place_of(field: str, event: Event) -> str:
    """Where in what was sent a field of the key should be: at its name, or at its path."""
    if field in OF_EVENTS:
        return child("", field)
    by_name = field in event.context
    return child(event.pointer, *((field,) if by_name else context_path(field).steps))


def _skipped(trigger: Startable, message: str) -> Skipped:
    log.warning("the trigger %s starts nothing: %s", trigger.id, message)
    return Skipped(Reason.EXPRESSION_ERROR)


def holds(trigger: Startable, event: Event) -> bool:
    """Whether the trigger's filter and its condition hold. Raises `ExpressionError`."""
    wanted = trigger.settings.filter
    if wanted and not all(_equal(compile_mapping(path).find(event.context), wanted[path]) for path in wanted):
        return False
    condition = trigger.settings.condition
    return condition is None or to_boolean(compile_condition(condition).evaluate(_scope(trigger, event)))


def _equal(found: Json, wanted: Json) -> bool:
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def _scope(trigger: Startable, event: Event) -> Scope:
    front: JsonObject = {
        PAYLOAD: event.payload,
        "workflowId": trigger.workflow_id,
        "instituteId": trigger.institute_id,
        "triggerId": trigger.id,
        "eventName": event.name or trigger.settings.event_name,
        "eventId": event.id,
        "ctx": event.context,
    }
    return Scope(Layered(front, event.context), event.at, f"{trigger.id}/{event.id or event.at.isoformat()}")


def delivery_of(trigger: Startable, event: Event) -> Once | None:
    """What tells a signed request, or a message, from all others, however its trigger's settings have changed
    in between. None: it was not signed."""
    if event.delivery is None:
        return None
    setting = trigger.settings.idempotency
    parts = ("delivery", trigger.id, event.delivery)
    return once(
        trigger.institute_id,
        trigger.workflow_id,
        parts,
        expires_at=(event.received_at or event.at) + DELIVERIES_KEPT,
        retry_failed=isinstance(setting, dict) and setting.get("retryFailed") is True,
    )
