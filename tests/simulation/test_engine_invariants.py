"""Each invariant of the engine's simulation names what breaks it, and lets through what does not."""

from collections import Counter
from dataclasses import replace

import pytest

from muster.model.workflow import Definition, Edge, Node
from muster.sim.scenarios.engine.invariants import (
    Seen,
    Snapshot,
    Step,
    at_commit,
    effect_counts,
    happens_again,
    not_undone,
    stale_write,
    unfinished,
    unlike_the_reference,
)

ROW = Seen(
    id="e1",
    version=1,
    status="RUNNING",
    fence=2,
    owner="here",
    leased=True,
    due=False,
    held=False,
    waits=False,
    has_place=True,
    takeovers=0,
    error=None,
    result="{}",
)
ENDED = replace(ROW, status="COMPLETED", owner=None, leased=False)
PARKED = replace(ROW, status="PAUSED", owner=None, leased=False, due=True)
UNDO = {"type": "TELL", "config": {}}
TWO = Definition(
    "two",
    (Node("a", "TELL", {}, is_start=True, compensate=UNDO), Node("b", "TELL", {}, compensate=UNDO)),
    (Edge("a", "b"),),
)
A, B = (Step("e1", name, 1, "", place, "completed", {}) for place, name in enumerate("ab", start=1))


def seen(*rows: Seen, **journal: str) -> Snapshot:
    owners = {(row.id, row.fence): row.owner for row in rows if row.owner}
    return Snapshot({row.id: row for row in rows}, journal, owners)


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (seen(ROW), seen(), "lost"),
        (seen(ROW), seen(replace(ROW, leased=False)), "unattended"),
        (seen(ENDED), seen(replace(ENDED, result='{"n":1}')), "changed after its end"),
        (seen(ENDED), seen(PARKED), "changed after its end"),
        (seen(ENDED), seen(replace(ENDED, ended_at="later")), "changed after its end"),
        (seen(ROW), seen(replace(ROW, fence=1)), "fence went back"),
        (seen(ROW), seen(replace(PARKED, due=False, status="WAITING")), "unattended"),
        (seen(), seen(replace(PARKED, status="QUEUED", has_place=False)), "unattended"),
        (seen(ROW), seen(replace(ENDED, status="FAILED", error="Poisoned")), "wrongly given up"),
        (seen(ROW), seen(replace(ROW, owner="there")), "two owners"),
        (seen(ROW, x="completed"), seen(ROW, x="failed"), "forgotten work"),
        (seen(ROW, x="completed"), seen(ROW), "forgotten work"),
    ],
)
def test_a_commit_that_breaks_it(before: Snapshot, after: Snapshot, name: str) -> None:
    [found] = at_commit(before, after, {"e1"})
    assert found.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (seen(), seen(ROW)),
        (seen(ROW), seen(PARKED)),
        (seen(ROW), seen(replace(PARKED, due=False, held=True))),
        (seen(ROW), seen(replace(PARKED, due=False, status="WAITING", waits=True))),
        (seen(ROW), seen(ENDED)),
        (seen(ENDED), seen(replace(PARKED, fence=3))),
        (seen(PARKED), seen(replace(ROW, fence=3, owner="there"))),
        (seen(ROW, x="retrying"), seen(ROW, x="completed")),
    ],
)
def test_a_commit_that_is_right(before: Snapshot, after: Snapshot) -> None:
    assert at_commit(before, after, {"e1"}) == []


def test_an_effect_that_is_journaled_as_done_and_about_to_happen() -> None:
    assert happens_again(seen(ROW, x="completed"), "x") != []
    assert happens_again(seen(ROW, x="compensated"), "x") != []
    assert happens_again(seen(ROW, x="retrying"), "x") == happens_again(seen(ROW), "x") == []


def test_a_write_under_an_old_fence() -> None:
    assert stale_write(seen(ROW), "e1", 1) != []
    assert stale_write(seen(ROW), "e1", 2) == stale_write(seen(), "e1", 1) == []


def test_an_execution_that_never_ended() -> None:
    assert unfinished(ROW) != []
    assert unfinished(ENDED) == []


@pytest.mark.parametrize(
    ("row", "journal"),
    [
        (ENDED, [A]),
        (ENDED, [B]),
        (ENDED, [A, B, replace(B, visit=2, seq=3)]),
        (replace(ENDED, status="FAILED"), [A, B]),
        (replace(ENDED, status="CANCELLED"), [A, B]),
        (replace(ENDED, result='{"n":1}'), [A, B]),
    ],
)
def test_an_end_that_the_reference_does_not_come_to(row: Seen, journal: list[Step]) -> None:
    assert unlike_the_reference(row, TWO, journal, {}, cancelled=False) != []


def test_an_end_that_the_reference_comes_to() -> None:
    assert unlike_the_reference(ENDED, TWO, [A, B], {}, cancelled=False) == []
    assert unlike_the_reference(replace(ENDED, status="CANCELLED"), TWO, [A], {}, cancelled=True) == []


def test_an_effect_that_the_far_side_has_not_done_once() -> None:
    assert effect_counts(A, TWO, Counter()) != []
    assert effect_counts(A, TWO, Counter({A.place: 2})) != []
    assert effect_counts(A, TWO, Counter({A.place: 1})) == []


def test_what_is_undone_in_another_order_or_not_at_all() -> None:
    failed = replace(ENDED, status="FAILED", error="Refused")
    undo_b, undo_a = (
        Step("e1", name, 1, "undo", place, "compensated", {}) for place, name in ((3, "b"), (4, "a"))
    )
    assert not_undone(failed, TWO, [A, B]) != []
    assert not_undone(failed, TWO, [A, B, replace(undo_b, seq=5), undo_a]) != []
    assert not_undone(failed, TWO, [A, B, undo_b, undo_a]) == []


def test_what_is_said_to_be_done_while_others_are_undone_comes_next() -> None:
    failed = replace(ENDED, status="FAILED", error="Refused")
    failing = Step("e1", "c", 1, "", 2, "failed", {})
    undo_a, late_b, undo_b = (
        Step("e1", "a", 1, "undo", 4, "compensated", {}),
        replace(B, seq=3),
        Step("e1", "b", 1, "undo", 5, "compensated", {}),
    )
    assert not_undone(failed, TWO, [A, failing, late_b, undo_a, undo_b]) == []
    assert not_undone(failed, TWO, [A, B, replace(failing, seq=3), undo_a, undo_b]) != []
