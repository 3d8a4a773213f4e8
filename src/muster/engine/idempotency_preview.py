"""What an idempotency setting would make of some events: a dry run. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from muster.engine.idempotency import BadExpression, Keyed, MissingField, key_for
from muster.model.json import JsonObject, JsonView

A_NEW_UUID = "<a new UUID>"


@dataclass(frozen=True, slots=True)
class Sample:
    """An event as it might come."""

    context: JsonObject
    event_type: str | None
    event_id: str | None
    at: datetime


class Verdict(StrEnum):
    RUN = "RUN"
    SKIPPED = "SKIPPED"
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What would become of one event. `duplicate_of` is the place of the sample that has its key, counted
    from 0; `field` is what is missing."""

    verdict: Verdict
    key: str | None = None
    reason: str | None = None
    duplicate_of: int | None = None
    field: str | None = None
    message: str | None = None


def preview(setting: JsonView, trigger_id: str, samples: Sequence[Sample]) -> list[Foreseen]:
    """As if the samples came in this order, and every execution that they begin succeeded."""
    return list(_foreseen(setting, trigger_id, samples))


def _foreseen(setting: JsonView, trigger_id: str, samples: Sequence[Sample]) -> Iterator[Foreseen]:
    first: dict[tuple[str, ...], int] = {}
    for place, event in enumerate(samples):
        made = key_for(
            setting,
            trigger_id,
            event.context,
            event.event_type,
            event.event_id,
            event.at,
            lambda: A_NEW_UUID,
        )
        match made:
            case None:
                yield Foreseen(Verdict.RUN)
            case MissingField(field):
                yield Foreseen(Verdict.REFUSED, reason="MISSING_FIELD", field=field, message=made.message)
            case BadExpression(message):
                yield Foreseen(Verdict.SKIPPED, reason="EXPRESSION_ERROR", message=message)
            case Keyed(key, parts) if parts is None or first.setdefault(parts, place) == place:
                yield Foreseen(Verdict.RUN, key)
            case Keyed(key, parts):
                assert parts is not None, "such a key is nobody else's"
                yield Foreseen(Verdict.SKIPPED, key, "DUPLICATE", duplicate_of=first[parts])
            case _:
                assert_never(made)
