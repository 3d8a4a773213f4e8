"""The key of a trigger's start, from its `idempotencyGenerationSetting` and the event. Pure.

`docs/idempotency.md` has the formats.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import uuid4

from muster.expr import Expression, ExpressionError, Scope, compile_either, to_text
from muster.expr.convert import json_text
from muster.expr.paths import context_path
from muster.model.json import Json, JsonObject, JsonView
from muster.model.once import Once, once

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
# How long a key with a time part is kept after its window.
KEPT_AFTER = timedelta(days=1)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Keyed:
    """A key, before it is said whose. `parts` None: nobody else can have it."""

    key: str
    parts: tuple[str, ...] | None
    expires_at: datetime | None = None
    retry_failed: bool = False

    def within(self, tenant: str, workflow_id: str) -> Once:
        """The key in one workflow of a tenant."""
        if self.parts is None:
            return Once(self.key, None)
        return once(
            tenant,
            workflow_id,
            self.parts,
            key=self.key,
            expires_at=self.expires_at,
            retry_failed=self.retry_failed,
        )


@dataclass(frozen=True, slots=True)
class MissingField:
    """The setting refuses events that lack this: a field of the context, `eventType` or `eventId`."""

    field: str

    @property
    def message(self) -> str:
        return f"`{self.field}` is missing, and is part of the idempotency key."


@dataclass(frozen=True, slots=True)
class BadExpression:
    """The key's expression failed: the event starts nothing."""

    message: str


Generated: TypeAlias = Keyed | MissingField | BadExpression | None


class _Unusable(Exception):
    """A stored setting that would not be saved today."""


def key_of_request(key: str, place: int | None = None) -> Keyed:
    """The key that a caller gives a start; or a list of starts, each in its place."""
    if place is None:
        return Keyed(key, ("request", key))
    return Keyed(f"{key}_{place}", ("requests", key, str(place)))


def key_for(
    setting: JsonView | Json,
    trigger_id: str,
    context: JsonObject,
    event_type: str | None,
    event_id: str | None,
    at: datetime,
    unique: Callable[[], str] = lambda: str(uuid4()),
) -> Generated:
    """The key that an event has; None: it has none, and always runs. `at` is when the event came. A setting
    may have been stored by anybody: one that cannot be used is told in the log, and is as `UUID`."""
    if setting is None:
        return None
    if not isinstance(setting, Mapping):
        return _unusable(trigger_id, "it is no object", unique)
    event = _Event(setting, trigger_id, context, event_type, event_id, at)
    try:
        match event.setting.get("strategy", "NONE"):
            case "NONE":
                return None
            case "UUID":
                return Keyed(unique(), None)
            case "CUSTOM_EXPRESSION":
                return event.custom(unique())
            case "TIME_WINDOW":
                return event.keyed((), timed=True)
            case "CONTEXT_BASED":
                return event.keyed(event.fields(), timed=False)
            case "CONTEXT_TIME_WINDOW":
                return event.keyed(event.fields(), timed=True)
            case "EVENT_BASED":
                return event.keyed((), timed=False, by_event=True)
            case other:
                raise _Unusable(f"there is no strategy {other!r}")
    except _Unusable as unusable:
        return _unusable(trigger_id, unusable, unique)


def _unusable(trigger_id: str, why: object, unique: Callable[[], str]) -> Keyed:
    log.warning("trigger %s has an idempotency setting that cannot be used: %s", trigger_id, why)
    return Keyed(unique(), None)


def value_text(value: Json) -> str:
    """A value in a key: text as it is, `null`, `true`, numbers in their shortest form; lists and objects as
    compact JSON with sorted names. Raises `ExpressionError` for what is too large."""
    if value is None:
        return "null"
    return json_text(value, sort_keys=True) if isinstance(value, list | dict) else to_text(value)


@dataclass(slots=True)
class _Event:
    setting: JsonView
    trigger_id: str
    context: JsonObject
    event_type: str | None
    event_id: str | None
    at: datetime

    def keyed(
        self, fields: tuple[str, ...], timed: bool, by_event: bool = False
    ) -> Keyed | MissingField | BadExpression:
        values: list[tuple[str, Json]] = []
        if self._says("includeEventType", by_event):
            values.append(("eventType", self.event_type))
        if self._says("includeEventId", by_event):
            values.append(("eventId", self.event_id))
        values += [(name, self._value(name)) for name in fields]
        if self._says("failOnMissingContext", False):
            missing = next((name for name, value in values if value is None), None)
            if missing is not None:
                return MissingField(missing)
        start, expires_at = self._window() if timed else (None, None)
        try:
            told = [part for name, value in values for part in (name, value_text(value))]
        except ExpressionError as error:
            return BadExpression(f"A field of the idempotency key: {error.message}")
        told += [] if start is None else [str(start)]
        trigger = ("trigger", self.trigger_id) if self._says("includeTriggerId", True) else ()
        key = "_".join((*trigger, *told))
        # With or without the trigger, the first part is a word of ours: keys of other kinds have others.
        parts = (*(trigger or ("event",)), *told)
        return Keyed(key, parts, expires_at, self._says("retryFailed", False))

    def custom(self, identity: str) -> Keyed | BadExpression:
        text = self.setting.get("customExpression")
        if not isinstance(text, str):
            raise _Unusable("`CUSTOM_EXPRESSION` has no `customExpression`")
        event: JsonObject = {
            "triggerId": self.trigger_id,
            "eventName": self.event_type,
            "eventId": self.event_id,
            "ctx": self.context,
        }
        # Told apart by its identity, `uuid()` is another one for every event.
        scope = Scope({**self.context, **event}, self.at, identity)
        try:
            compiled = compile_either(text)
            value = compiled.evaluate(scope) if isinstance(compiled, Expression) else compiled.resolve(scope)
            key = to_text(value)
        except ExpressionError as error:
            return BadExpression(f"The idempotency key's expression: {error.message}")
        if not key:
            return BadExpression("The idempotency key's expression came to nothing.")
        return Keyed(key, ("custom", key), retry_failed=self._says("retryFailed", False))

    def fields(self) -> tuple[str, ...]:
        given = self.setting.get("contextFields")
        names = tuple(name for name in given if isinstance(name, str)) if isinstance(given, list) else ()
        if not names:
            raise _Unusable("its strategy needs `contextFields`")
        return names

    def _value(self, field: str) -> Json:
        """A field by its name, or at its path."""
        if field in self.context:
            return self.context[field]
        try:
            return context_path(field).lookup(self.context)[0]
        except ExpressionError as error:
            raise _Unusable(f"{field!r} is no path") from error

    def _window(self) -> tuple[int, datetime | None]:
        """When the window began, in milliseconds since 1970, and until when its key is kept."""
        minutes = self.setting.get("ttlMinutes")
        if not isinstance(minutes, int) or isinstance(minutes, bool) or minutes < 1:
            raise _Unusable("its strategy needs `ttlMinutes`")
        length = minutes * 60_000
        now = (self.at - EPOCH) // MILLISECOND
        start = now - now % length
        try:
            return start, EPOCH + (start + length) * MILLISECOND + KEPT_AFTER
        except OverflowError:
            return start, None  # past the end of the calendar

    def _says(self, flag: str, default: bool) -> bool:
        said = self.setting.get(flag)
        return said if isinstance(said, bool) else default
