"""Ids that are made of others."""

import uuid
from datetime import UTC, datetime

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
