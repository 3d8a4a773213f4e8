"""The quick way to JSON gives what the careful way gives, and leaves to it what it cannot judge."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.model.aside import LARGE, Aside
from muster.model.json import Json
from muster.store.types import Unstorable, json_text, quick_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def careful(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@given(VALUES)
def test_what_goes_quickly_is_what_goes_carefully(value: Json) -> None:
    quick = quick_text(value)
    assert quick is None or quick == careful(value)
    assert quick is None or len(quick.encode()) <= LARGE


@pytest.mark.parametrize(
    "value",
    [
        {"number": 3, "names": ["a", None, True]},
        {"id": "019a8e5e-1e10-7e66-8e5e-2e1e5e7e9e0e", "at": 1.5},
        "ä",
        -(2**63) + 1,
        [],
        {},
    ],
)
def test_what_is_plain_goes_quickly(value: Json) -> None:
    assert quick_text(value) == careful(value)


@pytest.mark.parametrize(
    "value",
    [
        1e22,
        [1e-7],
        {"a": -1.5e300},
        float("nan"),
        2**64,
        "\0",
        "\ud800",
        {"a": {"b": float("inf")}},
        Aside("digest", 1),
        {"aside": Aside("digest", 1)},
        "x" * LARGE,
        {str(number): number for number in range(LARGE // 8)},
        json.loads("[" * 500 + "]" * 500),
    ],
)
def test_what_is_not_plain_is_left_to_the_careful_way(value: Json) -> None:
    assert quick_text(value) is None


@pytest.mark.parametrize("value", [float("nan"), ["\0"], {"a": "\ud800"}])
def test_what_no_database_could_hold_is_refused_as_ever(value: Json) -> None:
    with pytest.raises(Unstorable):
        json_text(value)
