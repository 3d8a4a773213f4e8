"""Trying again, less and less often."""

import doctest

import pytest

from muster.kit import backoff
from muster.kit.backoff import until_it_works


def test_pauses_double_up_to_the_longest() -> None:
    assert doctest.testmod(backoff).failed == 0


async def test_it_is_tried_until_it_works_and_each_trouble_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_PAUSE", 0.001)
    answers: list[Exception | str] = [ConnectionError("one"), ConnectionError("two"), "done"]
    told: list[str] = []

    async def attempt() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    result = await until_it_works(attempt, ConnectionError, lambda error: told.append(str(error)))
    assert (result, told) == ("done", ["one", "two"])


async def test_another_error_is_not_tried_again() -> None:
    async def attempt() -> str:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await until_it_works(attempt, ConnectionError, lambda error: None)
