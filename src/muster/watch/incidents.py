"""Which incident an alert belongs to: one cause is one incident, however many items it hits. Pure.

Alerts are grouped by workflow, node and group. Where many come at once from several groups of one node, the
cause is the node's: they are one incident of all groups, and what nobody was told of yet becomes part of it.
Where many events are missed at once at several nodes of a workflow, somebody has gone silent who sends all of
them: those are one incident as well, at the node where it began.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from muster.model.watching import Severity, worst

# So many alerts of several groups of one node, within so long, have one cause.
FLOOD = 5
FLOOD_WINDOW = timedelta(minutes=5)
# So many that were missed at several nodes of one workflow, within as long, have one cause.
SILENCE = 20

T = TypeVar("T")
K = TypeVar("K")
Where = tuple[str, str]  # a workflow's id and a node


@dataclass(frozen=True, slots=True)
class Fresh:
    """An alert that belongs to no incident yet. `group` is the hash of its run's group."""

    id: int
    workflow_id: str
    node: str
    group: str
    severity: Severity
    at: datetime
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """An incident that is open. `group` None: it is of all groups. `missed` are those of its alerts that came
    within the window, and are about something that did not come."""

    id: int
    workflow_id: str
    node: str
    group: str | None
    severity: Severity
    count: int
    last_at: datetime
    is_told: bool
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """Alerts that go into one incident: a standing one, or a new one where `into` is None. `absorbs` are
    others that become part of it."""

    workflow_id: str
    node: str
    group: str | None
    into: int | None
    alerts: tuple[Fresh, ...]
    absorbs: tuple[Standing, ...] = ()

    @property
    def severity(self) -> Severity:
        return worst(*(each.severity for each in self.alerts), *(each.severity for each in self.absorbs))

    @property
    def count(self) -> int:
        return len(self.alerts) + sum(part.count for part in self.absorbs)

    @property
    def first_at(self) -> datetime:
        return min(alert.at for alert in self.alerts)

    @property
    def last_at(self) -> datetime:
        return max(alert.at for alert in self.alerts)


def place(fresh: Sequence[Fresh], standing: Sequence[Standing]) -> Sequence[Placed]:
    """Where each of the fresh alerts goes. `standing` are all open incidents of their workflows and nodes."""
    placed: list[Placed] = []
    for workflow_id, alerts in _by(fresh, lambda alert: alert.workflow_id).items():
        there = [each for each in standing if each.workflow_id == workflow_id]
        missed = [alert for alert in alerts if alert.is_missed]
        if _is_silence(missed, there):
            placed.append(silence := _silence(missed, there))
            there = [each for each in there if each not in silence.absorbs]
            alerts = [alert for alert in alerts if not alert.is_missed]
        for where, of_node in _by(alerts, _where).items():
            here = [each for each in there if _where(each) == where]
            placed += _flood(of_node, here) if _is_flood(of_node, here) else _by_group(of_node, here)
    return placed


def _is_silence(missed: Sequence[Fresh], there: Sequence[Standing]) -> bool:
    nodes = {alert.node for alert in missed} | {each.node for each in there if each.missed}
    return bool(missed) and len(nodes) > 1 and len(missed) + sum(each.missed for each in there) >= SILENCE


def _silence(missed: Sequence[Fresh], there: Sequence[Standing]) -> Placed:
    """All into one: the first that was told to somebody, else the oldest; or the one of its node that is of
    all groups already. Others that nobody was told of become part of it."""
    recent = [each for each in there if each.missed]
    first = min(recent, key=lambda each: (not each.is_told, each.id), default=None)
    node = missed[0].node if first is None else first.node
    whole = [each for each in there if each.node == node and each.group is None]
    into = whole[0] if whole else first
    absorbed = tuple(each for each in recent if not each.is_told and each is not into)
    into_id = None if into is None else into.id
    return Placed(missed[0].workflow_id, node, None, into_id, tuple(missed), absorbed)


def _where(of: Fresh | Standing) -> Where:
    return of.workflow_id, of.node


def _is_flood(alerts: Sequence[Fresh], here: Sequence[Standing]) -> bool:
    if any(each.group is None for each in here):
        return True
    since = max(alert.at for alert in alerts) - FLOOD_WINDOW
    recent = [each for each in here if each.last_at >= since]
    groups = {alert.group for alert in alerts} | {each.group for each in recent}
    return len(groups) > 1 and len(alerts) + sum(each.count for each in recent) >= FLOOD


def _flood(alerts: Sequence[Fresh], here: Sequence[Standing]) -> Sequence[Placed]:
    """All into one: the one that is of all groups already, else the first that was told to somebody, else the
    oldest. Others that nobody was told of become part of it."""
    first = min(here, key=lambda each: (each.group is not None, not each.is_told, each.id), default=None)
    absorbed = tuple(each for each in here if not each.is_told and each is not first)
    into = None if first is None else first.id
    return [Placed(alerts[0].workflow_id, alerts[0].node, None, into, tuple(alerts), absorbed)]


def _by_group(alerts: Sequence[Fresh], here: Sequence[Standing]) -> Sequence[Placed]:
    known = {each.group: each.id for each in here}
    return [
        Placed(of[0].workflow_id, of[0].node, group, known.get(group), tuple(of))
        for group, of in _by(alerts, lambda alert: alert.group).items()
    ]


def _by(items: Iterable[T], key: Callable[[T], K]) -> Mapping[K, list[T]]:
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
