"""What a publisher does with what it finds: the marker of the bus, and what the database knows."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import NOON
from muster.engine.bus import Outgoing
from muster.engine.publishing import (
    Broken,
    GoOn,
    Leave,
    Queued,
    Standing,
    Stop,
    check_places,
    take_over,
)

MINE, OTHERS = 7, 8


def test_all_that_the_bus_has_is_published_and_the_rest_is_not() -> None:
    assert take_over(MINE, Standing(MINE, next_seq=10, published_seq=3), marker=3) == GoOn(3)
    assert take_over(MINE, Standing(MINE, next_seq=10, published_seq=3), marker=9) == GoOn(9)
    assert take_over(MINE, Standing(MINE, next_seq=1, published_seq=0), marker=0) == GoOn(0)


def test_who_was_overtaken_meanwhile_leaves_whatever_it_has_found() -> None:
    for next_seq, marker in product((1, 10), (0, 5, 20)):
        assert take_over(MINE, Standing(OTHERS, next_seq, published_seq=0), marker) == Leave()


def test_a_bus_that_is_ahead_of_the_database_stops_the_stream() -> None:
    found = take_over(MINE, Standing(MINE, next_seq=10, published_seq=3), marker=10)
    assert isinstance(found, Stop)
    assert "older copy of the database" in found.problem


def test_a_bus_that_is_behind_what_was_published_stops_the_stream() -> None:
    found = take_over(MINE, Standing(MINE, next_seq=10, published_seq=3), marker=2)
    assert isinstance(found, Stop)
    assert "another bus" in found.problem


def test_only_what_follows_may_be_published() -> None:
    def batch(*places: int) -> list[Queued]:
        return [Queued(place, Outgoing("t", b""), NOON) for place in places]

    check_places(3, batch(4, 5, 6))
    for places in ((3, 4), (5, 6), (4, 6), (4, 4), (5, 4)):
        with pytest.raises(Broken):
            check_places(3, batch(*places))


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 12), st.booleans())
def test_whoever_goes_on_has_lost_and_repeats_nothing(
    next_seq: int, published: int, marker: int, overtaken: bool
) -> None:
    fence = OTHERS if overtaken else MINE
    found = take_over(MINE, Standing(fence, next_seq, min(published, next_seq - 1)), marker)
    if isinstance(found, GoOn):
        assert not overtaken
        assert found.last == marker, "the marker is the truth"
        assert min(published, next_seq - 1) <= marker < next_seq
