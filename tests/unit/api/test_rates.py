"""Rate limits: a bucket for each caller."""

import pytest

from muster.api.rates import Rates


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_of_twice_the_rate_passes_and_the_next_waits() -> None:
    rates = Rates(10, Seconds())
    assert [rates.take("ada") for _ in range(20)] == [0.0] * 20
    assert rates.take("ada") == 0.1


def test_the_bucket_fills_by_the_second() -> None:
    seconds = Seconds()
    rates = Rates(10, seconds)
    while rates.take("ada") == 0.0:
        pass
    seconds.now += 0.5
    assert [rates.take("ada") > 0 for _ in range(6)] == [False] * 5 + [True]


def test_one_caller_does_not_use_up_anothers() -> None:
    rates = Rates(1, Seconds())
    while rates.take("ada") == 0.0:
        pass
    assert rates.take("bob") == 0.0


def test_zero_is_no_limit() -> None:
    rates = Rates(0, Seconds())
    assert {rates.take("ada") for _ in range(1_000)} == {0.0}


def test_very_many_callers_are_not_all_remembered() -> None:
    rates = Rates(1, Seconds())
    for number in range(20_000):
        rates.take(f"caller {number}")
    assert len(rates._buckets) == 10_000


def test_what_is_charged_is_owed_and_at_most_a_full_bucket() -> None:
    seconds = Seconds()
    rates = Rates(10, seconds)
    assert rates.wait("a") == 0.0
    rates.charge("a", 19)
    assert rates.wait("a") == 0.0
    rates.charge("a", 1_000)
    assert rates.wait("a") == rates.take("a") == pytest.approx(2.1)
    assert rates.wait("b") == 0.0
