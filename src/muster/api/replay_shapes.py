"""What callers send and get about replays."""

from datetime import datetime

from pydantic import Field, JsonValue

from muster.api.moments import Moment
from muster.api.shapes import Request, Shape
from muster.watch.backtest import Backtested
from muster.watch.replay import Compared


class Replay(Request):
    """Stored events through a version, or through a draft."""

    workflow: str = Field(min_length=1, max_length=255, description="A watched workflow's key.")
    version: int | None = Field(
        default=None, ge=1, le=2_147_483_647, description="A version's number; by default the active one."
    )
    graph: dict[str, JsonValue] | None = Field(
        default=None, description="A draft, instead of a version: its `nodes` and `edges`."
    )
    from_: Moment | None = Field(default=None, alias="from", description="Events that came then, or later.")
    to: Moment | None = Field(default=None, description="Events that came before then; by default all.")


class ReplayDifference(Shape):
    correlation_key: str
    name: str = Field(description="Of misses and alerts, the node; of runs, their number.")


class ReplayDifferences(Shape):
    """The lists name a hundred at most; `differences` counts all."""

    now: int = Field(description="How many there are.")
    replayed: int = Field(description="How many there would be.")
    differences: int
    only_now: list[ReplayDifference]
    only_replayed: list[ReplayDifference]
    changed: list[ReplayDifference]


class Replayed(Shape):
    workflow: str
    version: int | None = Field(description="Null: it was a draft.")
    since: datetime | None = Field(serialization_alias="from")
    to: datetime
    events: int
    truncated: bool = Field(description="There were more events than are replayed at once.")
    left_out: int = Field(description="Keys that were under way already when it begins.")
    differs: bool
    runs: ReplayDifferences
    misses: ReplayDifferences
    alerts: ReplayDifferences


def replayed_of(done: Backtested) -> Replayed:
    report = done.report
    return Replayed(
        workflow=done.workflow.key,
        version=done.version,
        since=done.since,
        to=done.until,
        events=report.events,
        truncated=done.truncated,
        left_out=done.left_out,
        differs=report.differs,
        runs=_differences(report.runs),
        misses=_differences(report.misses),
        alerts=_differences(report.alerts),
    )


def _differences(compared: Compared) -> ReplayDifferences:
    only_now, only_replayed, changed = (
        [ReplayDifference(correlation_key=key, name=name) for key, name in part]
        for part in (compared.only_now, compared.only_replayed, compared.changed)
    )
    return ReplayDifferences(
        now=compared.now,
        replayed=compared.replayed,
        differences=compared.differences,
        only_now=only_now,
        only_replayed=only_replayed,
        changed=changed,
    )


BODIES = (Replay,)
