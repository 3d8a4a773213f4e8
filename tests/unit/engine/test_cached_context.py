"""Contexts as a cache has them, and what is made of them."""

import json
from datetime import UTC, datetime

import pytest

from muster.engine.cache import Entry, Version
from muster.engine.cached_context import Kept, Snapshot, entry_of, kept_of
from muster.engine.contexts import _bounded
from muster.engine.journal import JournalRow, Signal, SignalKind
from muster.engine.owned import OwnedExecution
from muster.engine.state import ExecutionStatus
from muster.engine.view import Facts
from muster.model.aside import Aside
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject

NOON = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
FACTS = Facts("e", "w", 1, "", NOON, trigger_id="t")
TOKENS: JsonObject = {"tokens": [{"node": "b", "visit": 1, "phase": "running", "attempt": 1}]}


def row(node: str, seq: int, output: object = None) -> JournalRow:
    return JournalRow(
        node, 1, "", seq, 2, NodeStatus.COMPLETED, NOON, NOON, output, {"n": seq}, warnings=("w",)
    )


def snapshot(seq: int, parked: bool = False, **more: object) -> Snapshot:
    state: JsonObject = {**TOKENS, "outputs": {"a": {"x": 1}}, "seq": seq}
    given: dict[str, object] = {"context": {"n": 1}, **more}
    return Snapshot(FACTS, 3, "a", "RUNNING", "b", state=state, is_parked=parked, **given)


def kept(found: Snapshot) -> Kept:
    read = kept_of(entry_of(found))
    assert read is not None
    return read


def owned(
    fence: int, checkpoint_seq: int, journal: list[JournalRow], signals: list[Signal]
) -> OwnedExecution:
    status = ExecutionStatus.RUNNING
    return OwnedExecution(
        "e", "w", 1, "", fence, NOON, status, {}, {}, 1, journal, signals, checkpoint_seq=checkpoint_seq
    )


def test_what_is_read_is_what_was_written() -> None:
    rows = (row("a", 6, {"large": Aside("abc", 70_000)}), row("b", 7)._replace(completed_at=None, due=NOON))
    found = snapshot(7, context={"n": 1, "deep": {"large": Aside("def", 80_000)}}, rows=rows, taken=((5, 6),))
    read = kept(found)
    assert (read.version, read.is_parked, read.taken) == (Version(3, 14), False, ((5, 6),))
    assert (read.context, read.state) == (found.context, found.state)
    assert read.rows == rows
    assert read.has_asides
    deep = read.context["deep"]
    assert isinstance(deep, dict)
    assert isinstance(deep["large"], Aside)
    assert isinstance(read.rows[0].output["large"], Aside)  # type: ignore[index]  # it is an object, as above


def test_what_merely_looks_like_a_large_value_stays_what_it_is() -> None:
    read = kept(snapshot(1, context={"n": {"$large": {"sha256": "x", "size": 1}}}))
    assert type(read.context["n"]) is dict
    assert not read.has_asides


def test_what_is_parked_is_newer_than_what_was_under_way_with_as_many_rows() -> None:
    assert snapshot(7).version < snapshot(7, parked=True).version < snapshot(8).version


def test_what_json_cannot_say_is_not_kept() -> None:
    with pytest.raises(ValueError, match="JSON"):
        entry_of(snapshot(1, context={"n": float("nan")}))


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_nothing_is_made_of_half_an_entry(at: int) -> None:
    whole = entry_of(snapshot(7, rows=(row("a", 7),)))
    assert kept_of(whole._replace(text=whole.text[:at])) is None


@pytest.mark.parametrize("name", ["variables", "nodeOutputs", "metadata"])
@pytest.mark.parametrize("value", [None, 7, "x", [1]])
def test_nothing_is_made_of_what_has_another_shape(name: str, value: object) -> None:
    document = {**json.loads(entry_of(snapshot(7)).text), name: value}
    assert kept_of(Entry("k", Version(3, 14), json.dumps(document))) is None


@pytest.mark.parametrize("taken", ["[[1e400,1]]", f"[[{'9' * 5_000},1]]", "[" * 100_000])
def test_nothing_is_made_of_what_is_too_large_or_too_deep(taken: str) -> None:
    text = entry_of(snapshot(7, taken=((1, 2),))).text
    assert kept_of(Entry("k", Version(3, 14), text.replace("[[1,2]]", taken))) is None


def test_what_is_too_deep_to_be_said_is_not_kept() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    assert _bounded(lambda: entry_of(snapshot(7, context={"n": deep}))) == []


def test_who_recovers_keeps_what_nobody_has_written_and_takes_no_signal_again() -> None:
    known = kept(snapshot(9, rows=(row("a", 7), row("b", 8), row("c", 9)), taken=((1, 5), (2, 9))))
    signals = [Signal(number, SignalKind.HOLD, {}, seq) for number, seq in ((1, 5), (2, None), (3, None))]
    found = known.recover(owned(4, 3, [row("a", 7)], signals))
    assert [each.seq for each in found.unwritten] == [8, 9], "the journal has 7"
    assert [signal.id for signal in found.signals] == [3]
    assert found.taken == ((1, 5), (2, 9))
    assert found.context == {"n": 1}


@pytest.mark.parametrize(
    ("fence", "checkpoint_seq", "beyond"), [(4, 3, True), (4, 9, False), (5, 3, False), (3, 3, False)]
)
def test_it_counts_where_it_is_the_last_owners_and_beyond_the_checkpoint(
    fence: int, checkpoint_seq: int, beyond: bool
) -> None:
    assert kept(snapshot(9)).is_beyond(owned(fence, checkpoint_seq, [], [])) is beyond
    assert not kept(snapshot(9, parked=True)).is_beyond(owned(fence, checkpoint_seq, [], []))
