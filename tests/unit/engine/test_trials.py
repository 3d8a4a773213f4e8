"""How many suspects are driven together, so that only what brings its owners down is given up."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from muster.engine.trials import (
    LAST_PATIENCE,
    LONGEST_WAIT,
    PATIENCE,
    company,
    is_given_up,
    is_on_trial,
    room,
)

FIRST = 1
MOST = 5


def test_who_lost_an_owner_once_is_taken_over_with_all_others() -> None:
    assert room(FIRST, [5, 4, 3], MOST) is None


def test_company_shrinks_with_every_takeover_until_the_last_is_alone() -> None:
    assert [company(takeovers, MOST) for takeovers in range(1, 7)] == [None, 16, 2, 1, 1, 1]


def test_where_one_takeover_is_the_last_it_is_alone_from_the_first() -> None:
    assert company(1, 1) == 1
    assert room(1, [1], 1) == 0


def test_who_goes_down_five_times_is_given_up_unless_others_do_so_without_it() -> None:
    assert not is_given_up(MOST, 0, MOST)
    assert is_given_up(MOST + 1, MOST + 1, MOST), "every start follows one that it may have brought down"
    assert not is_given_up(MOST + 1, 2 * MOST, MOST), "many go down without it"
    assert is_given_up(2 * MOST + 1, 1000, MOST), "but not for ever"


def test_the_more_there_are_the_more_are_tried_together_but_for_the_last_time_each_is_alone() -> None:
    assert room(2, [], MOST, waiting=1000) == 125
    assert room(3, [], MOST, waiting=125) == 16
    assert room(4, [], MOST, waiting=16) == 2
    assert room(5, [], MOST, waiting=1000) == 1


def test_who_has_waited_long_enough_is_tried_with_all_others_unless_one_is_there_for_the_last_time() -> None:
    assert room(2, [2] * 16, MOST, 50, LONGEST_WAIT - 1) == 0
    assert room(2, [2] * 16, MOST, 50, LONGEST_WAIT + 1) is None
    assert room(2, [MOST], MOST, 50, LONGEST_WAIT + 1) == 0
    assert room(MOST, [2], MOST, 50, LONGEST_WAIT + 1) == 0


@given(st.integers(2, 9), st.lists(st.integers(2, 9), max_size=80))
def test_nobody_on_trial_has_more_company_than_it_may(takeovers: int, on_trial: list[int]) -> None:
    most = 9
    allowed = room(takeovers, on_trial, most)
    assert allowed is not None
    if allowed:
        together = [*on_trial, *[takeovers] * allowed]
        assert all(len(together) <= (company(each, most) or 0) for each in together)


def test_patience_ends_and_lasts_longest_for_the_last_trial() -> None:
    assert is_on_trial(2, MOST, PATIENCE - 1)
    assert not is_on_trial(2, MOST, PATIENCE + 1)
    assert is_on_trial(MOST, MOST, LAST_PATIENCE - 1)
    assert not is_on_trial(MOST, MOST, LAST_PATIENCE + 1)


def test_who_made_progress_is_not_on_trial() -> None:
    assert not is_on_trial(0, MOST, 0.0)
    assert not is_on_trial(FIRST, MOST, 0.0)


def test_of_hundreds_that_went_down_together_only_the_culprits_are_convicted() -> None:
    """A model of the rule alone: a group with a culprit in it goes down before anybody gets further."""
    chance = Random(7)
    culprits = set(chance.sample(range(500), 5))
    takeovers, convicted = dict.fromkeys(range(500), 0), set[int]()
    while takeovers:
        waiting = sorted(takeovers, key=lambda _: chance.random())
        before = takeovers[waiting[0]]
        same = [each for each in waiting if takeovers[each] == before]
        group = same[: room(before + 1, [], MOST, len(same))]
        if before == MOST:
            convicted |= set(group)
        elif culprits & set(group):
            takeovers |= dict.fromkeys(group, before + 1)
            continue
        takeovers = {each: count for each, count in takeovers.items() if each not in group}
    assert convicted == culprits
