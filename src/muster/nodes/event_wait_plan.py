"""A wait_events node's parameters as a plan: what is waited for, until when, and where it comes from."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from muster.definitions.durations import parse_duration
from muster.engine.event_keys import TopicFields, WaitKey, key_hash
from muster.engine.event_waits import RECEIVED, Expected, OnTimeout, Plan, Source, Strategy
from muster.expr import Scope, compile_condition
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.resolved import BadParameter, object_of, text_of, texts_of
from muster.nodes.wait_events import API_RESPONSE, DEFAULT_TIMEOUT, KAFKA_EVENT, enabled_events

DEFAULT_BUFFER = "1h"
CORRELATION_FIELD, EXECUTION_FIELD = "correlation_id", "execution_id"
_SOURCES = {API_RESPONSE: Source.CALLBACK, KAFKA_EVENT: Source.KAFKA}


def plan_from(params: JsonObject, complete_when: str | None, scope: Scope) -> Plan:
    """What resolved parameters ask for, from now on. Raises `BadParameter`."""
    now = scope.now
    events = tuple(_expected(name, block, now) for name, block in enabled_events(params).items())
    given = _given(complete_when, scope)
    return Plan(
        events=events,
        deadline=now + _length(params.get("timeout", DEFAULT_TIMEOUT), "timeout"),
        strategy=Strategy(_chosen(params, "aggregationStrategy", [*Strategy])),
        on_timeout=OnTimeout(_chosen(params, "onTimeout", [*OnTimeout])),
        named=texts_of(params.get("requiredEvents"), "requiredEvents"),
        complete_when=complete_when,
        given=given,
    )


def _expected(name: str, block: JsonView, now: datetime) -> Expected:
    own = block.get("timeout")
    return Expected(
        name=name,
        source=_SOURCES.get(name) or Source(str(block.get("source"))),
        required=block.get("required", True) is not False,
        topic=text_of(block.get("topic"), f"{name}.topic"),
        filter=object_of(block.get("filter"), f"{name}.filter"),
        deadline=None if own is None else now + _length(own, f"{name}.timeout"),
        key=_key(name, block),
    )


def _key(name: str, block: JsonView) -> str | None:
    """The hash of the business key that an event comes under; None: it carries the two ids."""
    if "correlation" not in block or not isinstance(block.get("topic"), str):
        return None
    found = key_hash(str(block["topic"]), _correlation_field(block), block["correlation"])
    if found is None:
        raise BadParameter(f"`{name}.correlation` is no text or number")
    return found


def _correlation_field(block: JsonView) -> str:
    return str(block.get("correlationIdField") or CORRELATION_FIELD)


def keys_of(params: JsonView) -> tuple[WaitKey, ...]:
    """The business keys that are expected. Raises `BadParameter`."""
    found = []
    for name, block in enabled_events(params).items():
        if (hashed := _key(name, block)) is not None:
            wanted = object_of(block.get("filter"), f"{name}.filter")
            found.append(WaitKey(hashed, name, block.get("cardinality") == "all", wanted))
    return tuple(found)


def _length(value: Json, name: str) -> timedelta:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise BadParameter(f"`{name}`: {error}") from None


def _chosen(params: JsonView, name: str, choices: list[str]) -> str:
    value = params.get(name, choices[0])
    if value not in choices:
        raise BadParameter(f"`{name}` is one of {', '.join(choices)}")
    return str(value)


def _given(complete_when: str | None, scope: Scope) -> JsonObject:
    """What `completeWhen` reads of the context, as it is now: nobody has the context when events come."""
    if complete_when is None:
        return {}
    names = compile_condition(complete_when).names - {RECEIVED}
    return {name: scope.root[name] for name in sorted(names) if name in scope.root}


def topics_of(params: JsonView) -> tuple[TopicFields, ...]:
    """Where messages come from, with the fields that their ids are in."""
    return tuple(dict.fromkeys(_topics(params)))


def _topics(params: JsonView) -> Iterator[TopicFields]:
    for block in enabled_events(params).values():
        topic = block.get("topic")
        if isinstance(topic, str):
            if "correlation" in block:
                kept = _length(block.get("bufferFor", DEFAULT_BUFFER), "bufferFor")
                yield TopicFields(topic, _correlation_field(block), "", int(kept.total_seconds()))
                continue
            execution = str(block.get("executionIdField") or EXECUTION_FIELD)
            yield TopicFields(topic, _correlation_field(block), execution)
