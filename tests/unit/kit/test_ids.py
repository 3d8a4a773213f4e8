"""Ids that are made of others."""

import uuid
from datetime import UTC, datetime, timedelta

from muster.kit.ids import TimeOrderedIds, derived_id, time_of


class Noon:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, 12, 0, 0, 123_000, UTC)


def test_a_derived_id_is_the_same_every_time_and_another_for_another_name() -> None:
    parent = TimeOrderedIds().new()
    assert derived_id(parent, "a") == derived_id(parent, "a")
    assert len({derived_id(parent, name) for name in "abcdef"} | {parent}) == 7
    made = uuid.UUID(derived_id(parent, "a"))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_a_derived_id_has_its_parents_time() -> None:
    parent = TimeOrderedIds(Noon()).new()
    assert time_of(parent) == time_of(derived_id(parent, "a")) == Noon().now()


class Hands:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.at = Noon().now()

    def now(self) -> datetime:
        return self.at


def test_ids_of_one_maker_rise_within_a_millisecond() -> None:
    ids = TimeOrderedIds(Noon())
    made = [ids.new() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {time_of(each) for each in made} == {Noon().now()}


def test_ids_rise_over_a_clock_that_is_set_back_a_little_and_believe_one_that_is_set_back_far() -> None:
    hands = Hands()
    ids = TimeOrderedIds(hands)
    first = ids.new()
    hands.at -= timedelta(milliseconds=500)
    second = ids.new()
    assert first < second
    hands.at -= timedelta(hours=2)
    assert time_of(ids.new()) == hands.at
