"""Trying an idempotency setting, for HTTP and for the command line alike."""

from datetime import UTC, datetime

from muster.api.idempotency_shapes import (
    IdempotencyPreview,
    IdempotencyPreviewed,
    PreviewedEvent,
    SampleEvent,
)
from muster.api.problems import Code, Refused
from muster.definitions.idempotency_settings import check_idempotency
from muster.engine.idempotency_preview import Foreseen, Sample, preview


def previewed(body: IdempotencyPreview, now: datetime) -> IdempotencyPreviewed:
    """What would become of each event. Raises `Refused` for a setting that could not be saved."""
    problems = check_idempotency(body.setting, "/setting")
    if problems:
        raise Refused(Code.INVALID_BODY, problems[0].message, problems=problems)
    samples = [_sample(event, now) for event in body.events]
    return IdempotencyPreviewed(
        results=[_shown(foreseen) for foreseen in preview(body.setting, body.trigger_id, samples)]
    )


def _sample(event: SampleEvent, now: datetime) -> Sample:
    at = event.at or now
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return Sample(dict(event.context), event.event_type, event.event_id, aware)


def _shown(foreseen: Foreseen) -> PreviewedEvent:
    return PreviewedEvent(
        key=foreseen.key,
        status=foreseen.verdict,
        reason=foreseen.reason,
        duplicate_of=foreseen.duplicate_of,
        field=foreseen.field,
        message=foreseen.message,
    )
