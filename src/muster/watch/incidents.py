"""Which incident an alert belongs to: one cause is one incident, however many items it hits. Pure.

Alerts are grouped by workflow, node and group. Where many come at once from several groups of one node, the
cause is the node's: they are one incident of all groups, and what nobody was told of yet becomes part of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from muster.model.watching import Severity, worst

# So many alerts of several groups of one node, within so long, have one cause.
FLOOD = 5
FLOOD_WINDOW = timedelta(minutes=5)

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


@dataclass(frozen=True, slots=True)
class Standing:
    """An incident that is open. `group` None: it is of all groups."""

    id: int
    workflow_id: str
    node: str
    group: str | None
    severity: Severity
    count: int
    last_at: datetime
    is_told: bool


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
    for where, alerts in _by(fresh, _where).items():
        here = [each for each in standing if _where(each) == where]
        placed += _flood(alerts, here) if _is_flood(alerts, here) else _by_group(alerts, here)
    return placed


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
