"""What an unknown name was probably meant to be."""

import time

import pytest

from muster.kit.names import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "expected"),
    [("prot", "port"), ("PORT", "port"), ("hots", "host"), ("elephant", None), ("", None)],
)
def test_the_likeliest_known_name_is_found_whatever_its_case(word: str, expected: str | None) -> None:
    assert nearest(word, ["port", "host", "roles"]) == expected


def test_a_suggestion_is_a_question() -> None:
    assert did_you_mean("Asia/Kolkatta", ["Asia/Kolkata"]) == "did you mean `Asia/Kolkata`?"
    assert did_you_mean("Mars", ["Asia/Kolkata"]) is None


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("ab" * 50_000, ["ab" * 50_000 + "c"]),
        ("ab" * 30, ["ab" * 50_000 + "c"]),
        ("ab" * 30, [f"{'ba' * 27}{number:06d}" for number in range(100_000)]),
    ],
)
def test_no_name_and_no_number_of_names_takes_long(word: str, known: list[str]) -> None:
    started = time.process_time()
    nearest(word, known)
    assert time.process_time() - started < 1
