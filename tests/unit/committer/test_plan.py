"""How waiting writes become statements."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from muster.store.committer import Locks, plan


@dataclass(frozen=True)
class Named:
    name: str
    key_may_repeat: bool
    is_single_statement: bool = False
    locks: Locks = Locks.NOTHING

    def write(self, connection: Connection, items: Sequence[object]) -> Sequence[None]:
        raise NotImplementedError("planning writes nothing")


@dataclass(frozen=True)
class Write:
    number: int
    kind: Named
    key: str


JOURNAL = Named("journal", key_may_repeat=True)
FINISH = Named("finish", key_may_repeat=False)
OUTBOX = Named("outbox", key_may_repeat=True)


def writes(*pairs: tuple[Named, str]) -> list[Write]:
    return [Write(number, kind, key) for number, (kind, key) in enumerate(pairs)]


def shape(planned: list[list[Write]]) -> list[tuple[str, list[int]]]:
    return [(statement[0].kind.name, [write.number for write in statement]) for statement in planned]


many_writes = st.lists(
    st.tuples(st.sampled_from([JOURNAL, FINISH, OUTBOX]), st.sampled_from("abcd")), max_size=30
).map(lambda pairs: writes(*pairs))


@given(many_writes, st.integers(1, 6) | st.none())
def test_every_write_is_planned_once_or_comes_later(given_writes: list[Write], limit: int | None) -> None:
    statements, later = plan(given_writes, limit)
    planned = [write for statement in statements for write in statement]
    assert sorted(w.number for w in planned + later) == [w.number for w in given_writes]


@given(many_writes, st.integers(1, 6) | st.none())
def test_every_key_keeps_its_order(given_writes: list[Write], limit: int | None) -> None:
    statements, later = plan(given_writes, limit)
    done = [write for statement in statements for write in statement] + later
    for key in "abcd":
        assert [w.number for w in done if w.key == key] == [w.number for w in given_writes if w.key == key]


@given(many_writes, st.integers(1, 6) | st.none())
def test_a_statement_has_one_kind_and_repeats_a_key_only_if_the_kind_may(
    given_writes: list[Write], limit: int | None
) -> None:
    for statement in plan(given_writes, limit).statements:
        (kind,) = {write.kind for write in statement}
        keys = [write.key for write in statement]
        assert kind.key_may_repeat or len(set(keys)) == len(keys)


@given(many_writes, st.integers(1, 6))
def test_there_are_no_more_statements_than_allowed_and_the_first_write_is_always_among_them(
    given_writes: list[Write], limit: int
) -> None:
    statements, later = plan(given_writes, limit)
    assert len(statements) <= limit
    assert given_writes[:1] == [w for statement in statements for w in statement][:1]
    assert not later or len(statements) == limit


@given(many_writes)
def test_no_write_could_have_gone_into_an_earlier_statement(given_writes: list[Write]) -> None:
    statements = plan(given_writes).statements
    place = {write.number: at for at, statement in enumerate(statements) for write in statement}
    for write in given_writes:
        before = [w for w in given_writes[: write.number] if w.key == write.key]
        once = {w.number for w in before if w.kind == write.kind and not w.kind.key_may_repeat}
        floor = max((place[w.number] + (w.number in once) for w in before), default=0)
        open_by_then = {place[w.number] for w in given_writes[: write.number] if w.kind == write.kind}
        assert all(at < floor or at >= place[write.number] for at in open_by_then)


def test_different_keys_need_one_statement_for_each_kind() -> None:
    planned = plan(writes((JOURNAL, "a"), (FINISH, "b"), (JOURNAL, "c"), (OUTBOX, "d"), (FINISH, "e")))
    assert shape(planned.statements) == [("journal", [0, 2]), ("finish", [1, 4]), ("outbox", [3])]


def test_a_key_that_alternates_between_kinds_gets_a_statement_for_each_turn() -> None:
    planned = plan(writes((JOURNAL, "a"), (OUTBOX, "a"), (JOURNAL, "a"), (JOURNAL, "b"), (OUTBOX, "b")))
    assert shape(planned.statements) == [("journal", [0, 3]), ("outbox", [1, 4]), ("journal", [2])]


def test_a_kind_that_takes_a_key_once_gets_another_statement_for_the_second() -> None:
    planned = plan(writes((FINISH, "a"), (FINISH, "a"), (FINISH, "b"), (JOURNAL, "a"), (JOURNAL, "a")))
    assert shape(planned.statements) == [("finish", [0, 2]), ("finish", [1]), ("journal", [3, 4])]


def test_one_busy_key_does_not_keep_the_others_out() -> None:
    planned = plan(writes(*[(FINISH, "busy")] * 5, (FINISH, "b"), (FINISH, "c")), most_statements=2)
    assert shape(planned.statements) == [("finish", [0, 5, 6]), ("finish", [1])]
    assert [write.number for write in planned.later] == [2, 3, 4]


def test_of_kinds_that_lock_rows_one_is_in_a_transaction_and_in_one_statement() -> None:
    ends = Named("ends", key_may_repeat=True, locks=Locks.ROWS)
    signals = Named("signals", key_may_repeat=True, locks=Locks.ROWS)
    given_writes = writes(
        (ends, "a"), (JOURNAL, "a"), (ends, "b"), (signals, "c"), (ends, "a"), (JOURNAL, "a"), (JOURNAL, "c")
    )
    planned, later = plan(given_writes, 64)
    assert shape(planned) == [("ends", [0, 2]), ("journal", [1])]
    assert [write.number for write in later] == [3, 4, 5, 6], "and what follows under their keys"


def test_keys_are_locked_before_rows_and_never_after() -> None:
    starts = Named("starts", key_may_repeat=True, locks=Locks.KEYS)
    ends = Named("ends", key_may_repeat=True, locks=Locks.ROWS)
    both = Named("both", key_may_repeat=True, locks=Locks.KEYS | Locks.ROWS)
    planned, later = plan(writes((starts, "a"), (ends, "b"), (both, "c"), (starts, "d")), 64)
    assert shape(planned) == [("starts", [0, 3]), ("ends", [1])]
    assert [write.number for write in later] == [2]
    planned, later = plan(writes((ends, "b"), (starts, "a"), (both, "c")), 64)
    assert shape(planned) == [("ends", [0])]
    assert [write.number for write in later] == [1, 2]
