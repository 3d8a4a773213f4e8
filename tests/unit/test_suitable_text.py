"""Which text everybody takes, and what becomes of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.model.text import is_suitable, made_suitable


@pytest.mark.parametrize("text", ["", "plain", "käse", "🧀", "\x01\x7f"])
def test_text_that_everybody_takes_stays_as_it_is(text: str) -> None:
    assert is_suitable(text)
    assert made_suitable(text) == text


@pytest.mark.parametrize(("text", "made"), [("a\0b", "a\N{REPLACEMENT CHARACTER}b"), ("ä\ud800", "ä?")])
def test_what_nobody_could_keep_is_marked(text: str, made: str) -> None:
    assert not is_suitable(text)
    assert made_suitable(text) == made


@given(st.text(st.characters(codec=None)))
def test_whatever_it_was_it_is_suitable_afterwards(text: str) -> None:
    assert is_suitable(made_suitable(text))
