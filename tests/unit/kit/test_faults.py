"""Exceptions are told by what they are and where they were raised; what they say stays with them."""

import errno
import os

import pytest

from muster.kit.faults import without_words

SAID = "acme's order"


def caught(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as found:
        return found


def test_kind_and_place_are_told_and_the_words_are_not() -> None:
    told = without_words(caught(ValueError(SAID)))
    assert told.startswith("Traceback (most recent call last):\n")
    assert "in caught\n" in told
    assert told.endswith("\nValueError")
    assert SAID not in told


def test_what_it_came_of_is_told_before_it() -> None:
    told = without_words(caught(LookupError(SAID), caught(KeyError(SAID))))
    assert told.index("KeyError") < told.index("LookupError")
    assert SAID not in told


def test_what_was_hidden_on_purpose_stays_hidden() -> None:
    def hides() -> None:
        try:
            raise KeyError(SAID)
        except KeyError:
            raise LookupError(SAID) from None

    with pytest.raises(LookupError) as raised:
        hides()
    assert "KeyError" not in without_words(raised.value)


def test_a_groups_members_are_told() -> None:
    told = without_words(caught(ExceptionGroup(SAID, [ValueError(SAID), caught(TypeError(SAID))])))
    assert "ExceptionGroup" in told
    assert "ValueError" in told
    assert "TypeError" in told
    assert SAID not in told


def test_the_systems_own_words_are_told_without_the_file_they_are_about() -> None:
    told = without_words(caught(OSError(errno.ENOSPC, SAID, SAID)))
    assert told.endswith(f"\nOSError: {os.strerror(errno.ENOSPC)}")
    assert SAID not in told


def test_one_that_came_of_itself_is_told_once() -> None:
    error = caught(ValueError(SAID))
    error.__context__ = error
    assert without_words(error).count("Traceback") == 1
