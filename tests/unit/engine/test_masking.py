"""Secrets are starred out however they are spelt, and nothing else is."""

import html
import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.engine.masking import NOTHING, Mask, reads_secrets
from muster.engine.state import Failure

SECRET = 'pass/word+&="<ü> 7'


@pytest.mark.parametrize(
    "spelt",
    [
        SECRET,
        f"Bearer {SECRET}, twice: {SECRET}",
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
        quote_plus(SECRET, safe="/"),
        json.dumps({"a": SECRET}),
        json.dumps(SECRET, ensure_ascii=False),
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
    ],
)
def test_every_spelling_is_found(spelt: str) -> None:
    shown = Mask([SECRET]).text(spelt)
    assert "***" in shown
    assert "word" not in shown


@given(before=st.binary(max_size=8), after=st.binary(max_size=8))
def test_within_base64_it_is_found_wherever_it_begins(before: bytes, after: bytes) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        encoded = encode(before + SECRET.encode() + after).decode()
        assert "***" in Mask([SECRET]).text(encoded)


def test_of_several_the_longer_goes_first() -> None:
    assert Mask(["abcd", "abcdef"]).text("abcdef abcd") == "*** ***"


def test_a_short_one_is_masked_only_where_it_is_all_there_is() -> None:
    assert Mask(["abc"]).value(["abc", "xabcx"]) == ["***", "xabcx"]


def test_values_are_looked_through_at_every_depth_keys_included() -> None:
    deep = {"a": [1, None, {"s3cret": ["x s3cret y", True]}]}
    assert Mask(["s3cret"]).value(deep) == {"a": [1, None, {"***": ["x *** y", True]}]}
    failure = Mask(["s3cret"]).failure(Failure("s3cret", "no s3cret", True, 3.0))
    assert failure == Failure("***", "no ***", True, 3.0)


def test_where_there_is_nothing_to_hide_nothing_is_copied() -> None:
    value = {"a": ["b"]}
    assert NOTHING.value(value) is value
    assert NOTHING.text("a") == "a"


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({"url": "#{_vars.token}"}, True),
        ({"deep": [{"x": "@{#root['_vars'].token}"}]}, True),
        ({"expect": "_vars.token != null"}, True),
        ({"url": "#{vars.token}"}, False),
    ],
)
def test_a_config_that_names_vars_reads_them(config: object, reads: bool) -> None:
    assert reads_secrets(config) is reads  # type: ignore[arg-type]  # JSON, as it stands
