"""Which incident alerts go into: one cause is one incident."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from muster.model.watching import Severity
from muster.watch.incidents import FLOOD, FLOOD_WINDOW, SILENCE, Fresh, Standing, place

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


def missed(count: int, *nodes: str) -> list[Fresh]:
    chosen = [(n, nodes[n % len(nodes)]) for n in range(count)]
    return [Fresh(n, "w", node, f"g{n % 3}", Severity.AMBER, NOW, is_missed=True) for n, node in chosen]


def test_many_that_are_missed_at_several_nodes_at_once_are_one_incident() -> None:
    [placed] = place(missed(SILENCE, "ack", "settle"), [])
    assert (placed.into, placed.node, placed.group, placed.count) == (None, "ack", None, SILENCE)
    assert len(place(missed(SILENCE - 1, "ack", "settle"), [])) == 2


def test_a_silence_takes_in_what_nobody_was_told_of_at_any_node() -> None:
    told = replace(standing(1, "a", told=True), missed=1)
    here = [told, replace(standing(2, "b", count=2), node="settle", missed=2), standing(3, "c")]
    [placed] = place(missed(SILENCE, "settle"), here)
    assert (placed.into, placed.node, placed.group) == (1, "ack", None)
    assert [part.id for part in placed.absorbs] == [2], "the third has not been missed just now"
    assert placed.count == SILENCE + 2


def test_a_silence_goes_into_the_one_of_its_node_that_is_of_all_groups() -> None:
    here = [replace(standing(1, "a", told=True), missed=1), standing(2, None, told=True)]
    [placed] = place(missed(SILENCE, "settle"), here)
    assert placed.into == 2


def test_what_is_out_of_order_meanwhile_is_no_part_of_a_silence() -> None:
    placed = place([*missed(SILENCE, "ack", "settle"), fresh(99, node="verify")], [])
    assert [(p.node, p.count) for p in placed] == [("ack", SILENCE), ("verify", 1)]
