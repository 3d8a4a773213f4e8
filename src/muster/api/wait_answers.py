"""Waits for events as callers are told of them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from muster.api.wait_shapes import EventWaitItem, EventWaitWhole, NearMissItem
from muster.engine.event_waits import WaitStatus
from muster.model.event_wait import NearMissRecord, WaitRecord

ENDS = {
    WaitStatus.RESUMING: "It has what it needs, and its execution goes on.",
    WaitStatus.COMPLETED: "It had what it needed, and its execution has gone on.",
    WaitStatus.TIMEOUT: "Its time was over.",
    WaitStatus.FAILED: "Nobody waits for it any more.",
}


def wait_item(wait: WaitRecord, now: datetime) -> EventWaitItem:
    return EventWaitItem.model_validate({**asdict(wait), "seconds_left": _left(wait, now)})


def wait_whole(wait: WaitRecord, missed: Sequence[NearMissRecord], now: datetime) -> EventWaitWhole:
    facts = {**asdict(wait), "seconds_left": _left(wait, now)}
    near = [near_item(each) for each in missed]
    return EventWaitWhole.model_validate({**facts, "explanation": explained(wait), "missed": near})


def near_item(missed: NearMissRecord) -> NearMissItem:
    return NearMissItem.model_validate(asdict(missed))


def _left(wait: WaitRecord, now: datetime) -> float | None:
    if wait.status != WaitStatus.WAITING:
        return None
    return round(max((wait.expires_at - now).total_seconds(), 0.0), 3)


def explained(wait: WaitRecord) -> str:
    """Why it waits, in a sentence or two."""
    status = WaitStatus(wait.status)
    if status in ENDS:
        return ENDS[status]
    needs = ", ".join(wait.needed_events) or "its condition to hold"
    any_will_do = wait.aggregation_strategy == "any" and len(wait.needed_events) > 1
    has = ", ".join(wait.received_events) or "nothing yet"
    until = wait.expires_at.isoformat(timespec="seconds")
    told = f"It needs {'any of ' if any_will_do else ''}{needs} and has {has}; it waits until {until}."
    if wait.trouble:
        told += f" Its `completeWhen` cannot be computed with what has come: {wait.trouble}"
    if wait.near_misses:
        came = (
            "1 event came close and was"
            if wait.near_misses == 1
            else f"{wait.near_misses} events came close and were"
        )
        told += f" {came} not accepted."
    return told
