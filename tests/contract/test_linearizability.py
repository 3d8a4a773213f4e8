"""The checker of concurrent histories, on histories that are known."""

from itertools import pairwise

from muster.conformance.linearizability import Operation, is_explained, unexplained

WRITE, READ = "write", "read"


def register(state: object, asked: tuple[str, object], answered: object) -> tuple[object, ...]:
    verb, value = asked
    if verb == WRITE:
        return (value,)
    return (state,) if answered == state else ()


def write(value: object, called: int, returned: int, key: str = "x") -> Operation[tuple[str, object]]:
    return Operation(key, (WRITE, value), None, called, returned)


def read(value: object, called: int, returned: int, key: str = "x") -> Operation[tuple[str, object]]:
    return Operation(key, (READ, None), value, called, returned)


def test_a_read_sees_what_was_written_before_it() -> None:
    assert is_explained([write(1, 0, 1), read(1, 2, 3)], register, None)
    assert not is_explained([write(1, 0, 1), read(None, 2, 3)], register, None)


def test_a_read_during_a_write_may_see_either() -> None:
    assert is_explained([write(1, 0, 10), read(None, 1, 2), read(1, 3, 4)], register, None)
    assert not is_explained([write(1, 0, 10), read(1, 1, 2), read(None, 3, 4)], register, None)


def test_writes_at_one_time_may_come_in_any_order_that_the_reads_agree_on() -> None:
    writes = [write(1, 0, 10), write(2, 0, 10)]
    assert is_explained([*writes, read(2, 11, 12), read(2, 13, 14)], register, None)
    assert not is_explained([*writes, read(2, 11, 12), read(1, 13, 14)], register, None)


def test_keys_are_looked_at_by_themselves() -> None:
    history = [write(1, 0, 1, "x"), write(1, 0, 1, "y"), read(1, 2, 3, "x"), read(2, 2, 3, "y")]
    assert unexplained(history, register, None) == ["y"]


def test_a_long_history_of_overlapping_writes_is_looked_through_in_no_time() -> None:
    """Each overlaps the next: every prefix has several states, and none is looked at twice."""
    history = [write(number, 2 * number, 2 * number + 3) for number in range(2_000)]
    assert is_explained(history, register, None)
    reads = [read(number, 2 * number + 3, 2 * number + 4) for number, _ in pairwise(range(2_000))]
    assert is_explained([*history, *reads], register, None)
    assert not is_explained([*history, *reads, read(0, 5_000, 5_001)], register, None)
