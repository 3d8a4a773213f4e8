"""Which incident alerts go into: one cause is one incident."""

from datetime import UTC, datetime, timedelta

from muster.model.watching import Severity
from muster.watch.incidents import FLOOD, FLOOD_WINDOW, Fresh, Standing, place

NOW = datetime(2024, 6, 10, 12, tzinfo=UTC)


def fresh(id: int, group: str = "ny", node: str = "ack", workflow: str = "w", **changes: object) -> Fresh:
    return Fresh(id, workflow, node, group, Severity.AMBER, NOW)


def standing(
    id: int, group: str | None = "ny", count: int = 1, told: bool = False, age: timedelta = timedelta(0)
) -> Standing:
    return Standing(id, "w", "ack", group, Severity.RED, count, NOW - age, told)


def test_alerts_are_grouped_by_workflow_node_and_group() -> None:
    placed = place([fresh(1), fresh(2), fresh(3, "ln"), fresh(4, node="settle"), fresh(5, workflow="v")], [])
    assert [(p.workflow_id, p.node, p.group, [a.id for a in p.alerts]) for p in placed] == [
        ("w", "ack", "ny", [1, 2]),
        ("w", "ack", "ln", [3]),
        ("w", "settle", "ny", [4]),
        ("v", "ack", "ny", [5]),
    ]


def test_an_alert_joins_the_open_incident_of_its_group() -> None:
    [placed] = place([fresh(1)], [standing(7), standing(8, "ln")])
    assert (placed.into, placed.group, placed.count) == (7, "ny", 1)


def test_many_of_several_groups_at_once_are_one_incident_of_all_groups() -> None:
    few = [fresh(n, f"g{n}") for n in range(FLOOD - 1)]
    assert len(place(few, [])) == FLOOD - 1
    [placed] = place([*few, fresh(99, "more")], [])
    assert (placed.into, placed.group, placed.count) == (None, None, FLOOD)


def test_many_of_one_group_are_the_groups_incident() -> None:
    [placed] = place([fresh(n) for n in range(100)], [])
    assert (placed.group, placed.count) == ("ny", 100)


def test_a_flood_takes_in_what_nobody_was_told_of_and_leaves_what_was_told() -> None:
    here = [standing(1, "a", told=True), standing(2, "b"), standing(3, "c", count=2)]
    [placed] = place([fresh(9, "d")], here)
    assert placed.into == 1
    assert placed.group is None
    assert [part.id for part in placed.absorbs] == [2, 3]
    assert (placed.count, placed.severity) == (4, Severity.RED)


def test_once_there_is_one_of_all_groups_everything_joins_it() -> None:
    [placed] = place([fresh(9, "z")], [standing(1, "a", told=True), standing(2, None, told=True)])
    assert (placed.into, placed.group, placed.absorbs) == (2, None, ())


def test_what_was_long_ago_makes_no_flood() -> None:
    old = [standing(n, f"g{n}", age=FLOOD_WINDOW * 2) for n in range(FLOOD)]
    assert [p.group for p in place([fresh(9, "z")], old)] == ["z"]
