"""How much work it is to lay out the JSON of a row: each value is encoded about once, whatever its shape."""

from collections.abc import Callable

import pytest

from muster.model.aside import LARGE, Aside
from muster.model.json import Json, JsonObject
from muster.store import large_values
from muster.store.large_values import OF_EXECUTIONS, Laying, is_surely_small


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each text that was made."""
    made: list[int] = []
    encode: Callable[[Json], str] = large_values.json_text

    def counting(value: Json) -> str:
        text = encode(value)
        made.append(len(text))
        return text

    monkeypatch.setattr(large_values, "json_text", counting)
    return made


def deep(levels: int, inside: Json) -> Json:
    for _ in range(levels):
        inside = {"in": inside}
    return inside


@pytest.mark.parametrize(
    "members",
    [
        {f"k{place}": place for place in range(20_000)},
        {f"k{place}": [place, {"x": "text"}] for place in range(20_000)},
    ],
)
def test_many_members_are_not_encoded_one_by_one(encoded: list[int], members: JsonObject) -> None:
    context: JsonObject = {**members, "_trigger": {**members, "body": members}}
    row = Laying(OF_EXECUTIONS).row("e", {}, {"context": context})
    assert row["aside"] == [["context", "_trigger", "body"]]
    assert len(encoded) < 10


def test_what_lies_deep_is_not_encoded_for_every_level_above_it(encoded: list[int]) -> None:
    row = Laying(OF_EXECUTIONS).row("e", {}, {"context": {"a": deep(60, "x" * LARGE)}})
    assert row["aside"] == [["context", "a", *["in"] * 60]]
    assert sum(encoded) < 3 * LARGE


@pytest.mark.parametrize(
    ("value", "small"),
    [
        (None, True),
        ("x" * (LARGE // 7), True),
        ("\x1f" * (LARGE // 5), False),
        ([0.5] * 100, True),
        ([1e300] * (LARGE // 300), False),
        ({"x" * LARGE: 1}, False),
        ([[]] * LARGE, False),
        ({"a": [{"b": Aside("digest", 1)}]}, False),
    ],
)
def test_what_is_surely_small_is_never_large(value: Json, small: bool) -> None:
    assert is_surely_small(value) is small
