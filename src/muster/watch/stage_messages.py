"""Messages that another program's stage sends: read by their schemas."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import cast

from jsonschema import Draft202012Validator

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError
from muster.model.watching import Severity, Trigger
from muster.watch.grouping import group_hash


class Unreadable(Exception):
    """Why a message cannot be read, in a sentence."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a message on `rule.evaluated` adds to the counts."""

    version_id: int
    group_hash: str
    group: JsonObject | None
    node: str
    at: datetime
    completed: int
    late: int
    failed: int
    in_flight: dict[str, int]


def schema(topic: str) -> JsonObject:
    """The JSON Schema of the messages of a topic, by the topic's usual name."""
    text = resources.files("muster.watch").joinpath("schemas", f"{topic}.json").read_text()
    found: JsonObject = json.loads(text)
    return found


@cache
def _validator(topic: str) -> Draft202012Validator:
    return Draft202012Validator(schema(topic))


def read_evaluated(value: bytes | None, at: datetime) -> Evaluated:
    """`at` is its time if it has none. Raises `Unreadable`."""
    told = _read(value, "rule.evaluated")
    group = cast("JsonObject | None", told.get("group"))
    return Evaluated(
        cast("int", told["workflowVersionId"]),
        cast("str", told.get("groupHash")) or group_hash(group or {}),
        group,
        cast("str", told["node"]),
        _moment(told.get("receivedAt"), at),
        cast("int", told.get("completedDelta", 0)),
        cast("int", told.get("lateDelta", 0)),
        cast("int", told.get("failedDelta", 0)),
        cast("dict[str, int]", told.get("inFlightDeltas", {})),
    )


def read_triggered(value: bytes | None, at: datetime) -> Trigger:
    """`at` is its time if it has none. Its group and its tenant are its run's. Raises `Unreadable`."""
    told = _read(value, "alerts.triggered")
    return Trigger(
        cast("int", told["workflowVersionId"]),
        cast("int | None", told.get("workflowRunId")),
        cast("str", told["node"]),
        cast("str", told["correlationKey"]),
        "",
        "",
        _severity(cast("str", told["severity"])),
        cast("str", told["reason"]),
        _moment(told.get("triggeredAt"), at),
        cast("str", told["dedupeKey"]),
    )


def _severity(name: str) -> Severity:
    """Another's own words for it are not known here: it is not overlooked for that."""
    try:
        return Severity(name.lower())
    except ValueError:
        return Severity.RED


def _read(value: bytes | None, topic: str) -> JsonObject:
    try:
        told = read_json(value or b"", Limits())
    except AuthorError as error:
        raise Unreadable(str(error)) from None
    wrong = next(iter(_validator(topic).iter_errors(told)), None)
    if wrong is not None:
        raise Unreadable(f"{wrong.json_path}: {wrong.message[:300]}.")
    return cast("JsonObject", told)


def _moment(value: Json, otherwise: datetime) -> datetime:
    if value is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(cast("str", value))
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Unreadable(f"`{str(value)[:100]}` is no time with its offset.")
