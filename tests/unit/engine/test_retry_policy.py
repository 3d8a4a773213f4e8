"""Whether a failed attempt is tried again, and after how long."""

import pytest

from muster.engine.retry import RetryPolicy
from muster.engine.state import Failure

BUSY = Failure("Busy", "later", retryable=True)


def seconds(policy: RetryPolicy, attempt: int, failure: Failure = BUSY, chance: float = 1.0) -> float | None:
    delay = policy.delay_after(attempt, failure, chance)
    return None if delay is None else delay.total_seconds()


def test_delays_grow_up_to_the_longest_and_end_with_the_attempts() -> None:
    policy = RetryPolicy(max_attempts=6, initial_delay=1, multiplier=3, max_delay=20)
    assert [seconds(policy, attempt) for attempt in range(1, 7)] == [1, 3, 9, 20, 20, None]


def test_full_jitter_takes_a_share_of_the_delay_unless_it_is_switched_off() -> None:
    assert seconds(RetryPolicy(3, initial_delay=10), 1, chance=0.25) == 2.5
    assert seconds(RetryPolicy(3, initial_delay=10, jitter=False), 1, chance=0.25) == 10


def test_who_is_asked_to_come_back_later_does_not_come_sooner() -> None:
    patient = Failure("Busy", "later", retryable=True, retry_after=90)
    assert seconds(RetryPolicy(3, max_delay=60), 1, patient, chance=0.0) == 90
    assert seconds(RetryPolicy(3, initial_delay=120, max_delay=300, jitter=False), 1, patient) == 120


@pytest.mark.parametrize(
    ("policy", "failure"),
    [
        (RetryPolicy(3), Failure("BadRequest", "no")),
        (RetryPolicy(3, on=frozenset({"Timeout"})), BUSY),
        (RetryPolicy(), BUSY),
    ],
    ids=["not retryable", "not among `on`", "one attempt"],
)
def test_some_failures_are_not_tried_again(policy: RetryPolicy, failure: Failure) -> None:
    assert seconds(policy, 1, failure) is None
