"""A watched item once more: its events through the graph, by the pure evaluator, and what is different."""

from muster.capsule.document import ItemCapsule
from muster.model.watching import Event, Severity
from muster.watch.graph import read_graph
from muster.watch.replay import Compared, Replaying, Told, compare


def item_differences(capsule: ItemCapsule) -> list[str]:
    """A line for each run, miss and alert that is not as it was."""
    graph = read_graph(capsule.document).graph
    if graph is None:
        return ["the definition is no graph that this Muster can watch"]
    replaying = Replaying(graph)
    replaying.take(_events(capsule))
    replaying.pass_until(capsule.exported_at)
    report = compare(_recorded(capsule), replaying.told)
    parts = {"runs": report.runs, "misses": report.misses, "alerts": report.alerts}
    return [line for name, part in parts.items() for line in _lines(name, part)]


def _events(capsule: ItemCapsule) -> list[Event]:
    return [
        Event(
            source_system=event.source,
            event_id=event.event_id,
            event_type=event.event_type,
            event_time=event.event_time,
            received_at=event.received_at,
            correlation_key=capsule.correlation_key,
            workflow_keys=event.workflow_keys,
            group=event.group,
            institute_id=capsule.institute_id,
        )
        for event in capsule.events
    ]


def _recorded(capsule: ItemCapsule) -> Told:
    key, first = capsule.correlation_key, min(capsule.runs, default=1)
    return Told(
        events=len(capsule.events),
        runs={(key, number - first + 1): Severity(status) for number, status in capsule.runs.items()},
        misses={(key, node): times for node, times in capsule.misses.items()},
        alerts={(key, node): (reason, Severity(worst)) for node, (reason, worst) in capsule.alerts.items()},
    )


def _lines(name: str, part: Compared) -> list[str]:
    told = {"was there, and is not": part.only_now, "is there, and was not": part.only_replayed}
    told["is another"] = part.changed
    return [f"{name}: {where} {what}" for what, places in told.items() for _, where in places]
