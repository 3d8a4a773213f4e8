"""Waits for events as they are kept: a plan as a document, and back."""

from datetime import datetime
from typing import cast

from muster.engine.event_waits import Expected, OnTimeout, Plan, Source, Strategy
from muster.model.json import Json, JsonObject


def document_of(plan: Plan) -> JsonObject:
    """What a plan is kept as; what is as usual is left out."""
    document: JsonObject = {
        "strategy": plan.strategy.value,
        "onTimeout": plan.on_timeout.value,
        "deadline": plan.deadline.isoformat(),
        "events": [_event(event) for event in plan.events],
    }
    if plan.named:
        document["requiredEvents"] = list(plan.named)
    if plan.complete_when is not None:
        document["completeWhen"] = plan.complete_when
    if plan.given:
        document["given"] = dict(plan.given)
    return document


def _event(event: Expected) -> JsonObject:
    document: JsonObject = {"name": event.name, "source": event.source.value}
    if not event.required:
        document["required"] = False
    if event.filter:
        document["filter"] = dict(event.filter)
    if event.deadline is not None:
        document["deadline"] = event.deadline.isoformat()
    texts = {"topic": event.topic, "key": event.key}
    return {**document, **{name: text for name, text in texts.items() if text is not None}}


def plan_of(document: JsonObject) -> Plan:
    """The plan that was kept so."""
    given = document.get("given")
    when = document.get("completeWhen")
    return Plan(
        events=tuple(_expected(event) for event in _objects(document["events"])),
        deadline=datetime.fromisoformat(str(document["deadline"])),
        strategy=Strategy(str(document["strategy"])),
        on_timeout=OnTimeout(str(document["onTimeout"])),
        named=tuple(str(name) for name in cast("list[Json]", document.get("requiredEvents", []))),
        complete_when=None if when is None else str(when),
        given=given if isinstance(given, dict) else {},
    )


def _expected(document: JsonObject) -> Expected:
    wanted, until = document.get("filter"), document.get("deadline")
    return Expected(
        name=str(document["name"]),
        source=Source(str(document["source"])),
        required=document.get("required") is not False,
        topic=_text(document.get("topic")),
        filter=wanted if isinstance(wanted, dict) else {},
        deadline=None if until is None else datetime.fromisoformat(str(until)),
        key=_text(document.get("key")),
    )


def _objects(value: Json) -> list[JsonObject]:
    return [each for each in cast("list[Json]", value) if isinstance(each, dict)]


def _text(value: Json) -> str | None:
    return None if value is None else str(value)
