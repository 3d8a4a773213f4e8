"""Events as they are sent: read and checked field by field, all that is wrong with one at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import orjson

from muster.kit.names import did_you_mean
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem
from muster.model.text import is_suitable
from muster.model.watching import Event

LONGEST_NAME = 255
MOST_WORKFLOWS = 100
REQUIRED = ("eventType", "eventTime", "correlationKey")
FIELDS = (*REQUIRED, "eventId", "sourceSystem", "workflowKey", "workflowKeys", "group", "payload")
NORMALIZED_FIELDS = (*FIELDS, "receivedAt")
# Before it are only times that somebody forgot to set; and at the very first no zone can be counted with.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large events may be, in bytes, and where one is from that does not say so."""

    payload: int = 262_144
    group: int = 4_096
    source_system: str = "unknown"


@dataclass(frozen=True, slots=True)
class BadEvent:
    """Why an event is not taken. `too_large`: that is all that is wrong with it."""

    problems: tuple[Problem, ...]
    too_large: bool = False

    @property
    def reason(self) -> str:
        return " ".join(problem.message for problem in self.problems)


def read_event(
    told: Json,
    bounds: Bounds,
    received_at: datetime,
    event_id: str,
    institute_id: str = "",
    known: tuple[str, ...] | None = FIELDS,
    trace: str | None = None,
) -> Event | BadEvent:
    """One event. `event_id` is its id if it has none of its own. `known` None: names that are not known are
    passed over."""
    if not isinstance(told, dict):
        return BadEvent((Problem("INVALID_VALUE", "", "An event is an object."),))
    form = _Form(told)
    if known is not None:
        form.refuse_others(known)
    event = Event(
        source_system=form.name("sourceSystem") or bounds.source_system,
        event_id=form.name("eventId") or event_id,
        event_type=form.name("eventType", required=True),
        event_time=form.moment("eventTime", required=True) or received_at,
        received_at=_received(form, received_at) if known == NORMALIZED_FIELDS else received_at,
        correlation_key=form.name("correlationKey", required=True),
        workflow_keys=form.workflow_keys(),
        group=form.document("group", bounds.group),
        payload=form.document("payload", bounds.payload),
        institute_id=institute_id,
        trace=trace,
    )
    if form.problems:
        return BadEvent(tuple(form.problems), all(each.code == "TOO_LARGE" for each in form.problems))
    return event


def _received(form: "_Form", at: datetime) -> datetime:
    return min(form.moment("receivedAt") or at, at)


class _Form:
    """Fields of one event, and what is wrong with them."""

    def __init__(self, told: Mapping[str, Json]) -> None:
        self._told = told
        self.problems: list[Problem] = []

    def refuse_others(self, known: tuple[str, ...]) -> None:
        for name in self._told:
            if name not in known:
                message = f"There is no field `{name[:100]}` here."
                self._wrong("UNKNOWN_NAME", name, message, did_you_mean(name, known))

    def name(self, field: str, required: bool = False) -> str:
        """A text that identifies; '' if there is none."""
        value = self._told.get(field)
        if value is None:
            if required:
                self._wrong("MISSING", field, f"The field `{field}` is missing.")
            return ""
        if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not is_suitable(value):
            message = f"`{field}` must be text of 1 to {LONGEST_NAME} characters that can be stored."
            self._wrong("INVALID_VALUE", field, message)
            return ""
        return value

    def moment(self, field: str, required: bool = False) -> datetime | None:
        value = self._told.get(field)
        if value is None:
            if required:
                self._wrong("MISSING", field, f"The field `{field}` is missing.")
            return None
        try:
            moment = datetime.fromisoformat(cast("str", value))
            if moment.tzinfo is None:
                raise ValueError("without an offset it may be any of many moments")
            moment = moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            message = f"`{field}` must be a time with its offset, such as `2024-06-10T12:00:00Z`."
            self._wrong("INVALID_VALUE", field, message)
            return None
        if moment < EARLIEST:
            message = f"`{field}` must not be before {EARLIEST.year}: it seems never to have been set."
            self._wrong("INVALID_VALUE", field, message)
            return None
        return moment

    def workflow_keys(self) -> tuple[str, ...] | None:
        """Several, or one; None: it names none."""
        several = self._told.get("workflowKeys")
        if several is None:
            one = self.name("workflowKey")
            return (one,) if one else None
        if (
            not isinstance(several, list)
            or not 1 <= len(several) <= MOST_WORKFLOWS
            or not all(isinstance(each, str) and 1 <= len(each) <= LONGEST_NAME for each in several)
            or not all(is_suitable(cast("str", each)) for each in several)
        ):
            message = f"`workflowKeys` must be a list of 1 to {MOST_WORKFLOWS} keys of workflows."
            self._wrong("INVALID_VALUE", "workflowKeys", message)
            return None
        return tuple(cast("list[str]", several))

    def document(self, field: str, most: int) -> JsonObject | None:
        value = self._told.get(field)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong("INVALID_VALUE", field, f"`{field}` must be an object.")
            return None
        try:
            text = orjson.dumps(value)
        except TypeError:
            text = b"\\u0000"  # half a character, or a number beyond 64 bits
        if len(text) > most:
            self._wrong("TOO_LARGE", field, f"`{field}` has {len(text):,} bytes: at most {most:,} are taken.")
        elif b"\\u0000" in text:
            message = f"`{field}` holds text or a number that cannot be stored."
            self._wrong("INVALID_VALUE", field, message)
        return value

    def _wrong(self, code: str, field: str, message: str, suggestion: str | None = None) -> None:
        pointer = "/" + field.replace("~", "~0").replace("/", "~1")
        self.problems.append(Problem(code, pointer, message, suggestion=suggestion))
