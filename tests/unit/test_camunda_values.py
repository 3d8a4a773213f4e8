"""Camunda's typed variables, to JSON and back."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.camunda.values import BadVariable, moment, typed, untyped

# What no database keeps is not read, either.
TEXT = st.characters(codec="utf-8", exclude_characters="\0")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(TEXT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(TEXT, max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_what_a_worker_sends_back_as_it_came_is_what_it_was(value: Any) -> None:
    assert untyped({"x": typed(value)}, "") == {"x": value}


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        (None, "Null", None),
        (True, "Boolean", True),
        ("x", "String", "x"),
        (2**31 - 1, "Integer", 2**31 - 1),
        (2**31, "Long", 2**31),
        (2**63, "Json", "9223372036854775808"),
        (1.5, "Double", 1.5),
        ({"a": [1]}, "Json", '{"a":[1]}'),
        ({"type": "date", "value": "2026-03-01T12:00:00Z"}, "Date", "2026-03-01T12:00:00.000+0000"),
        ({"type": "Object", "value": {"a": 1}}, "Object", '{"a":1}'),
        ({"type": "Double", "value": 1}, "Double", 1),
        ({"type": "Integer", "value": "no number"}, "Json", '{"type":"Integer","value":"no number"}'),
        ({"type": "car", "value": 1}, "Json", '{"type":"car","value":1}'),
    ],
)
def test_a_value_has_camundas_type(value: Any, kind: str, told: object) -> None:
    found = typed(value)
    assert (found["type"], found["value"]) == (kind, told)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"value": {"a": 1}}, {"a": 1}),
        ({"value": 5, "type": "integer", "valueInfo": {}}, 5),
        ({"value": None, "type": "String"}, None),
        ({"value": '{"a":1}', "type": "json"}, {"a": 1}),
        ({"value": {"a": 1}, "type": "Json"}, {"a": 1}),
        (
            {"value": "[1]", "type": "Object", "valueInfo": {"serializationDataFormat": "application/json"}},
            [1],
        ),
        ({"value": "2026-03-01T14:00:00.000+0200", "type": "Date"}, "2026-03-01T12:00:00Z"),
        (
            {"value": "eA==", "type": "File", "valueInfo": {"filename": "x.txt"}},
            {"filename": "x.txt", "value": "eA=="},
        ),
    ],
)
def test_what_workers_send_becomes_plain_json(given: Any, value: object) -> None:
    assert untyped({"x": given}, "/variables") == {"x": value}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (5, "/variables/x"),
        ({"value": 5, "type": "car"}, "/variables/x/type"),
        ({"value": "5", "type": "Integer"}, "/variables/x/value"),
        ({"value": True, "type": "Long"}, "/variables/x/value"),
        ({"value": 2**31, "type": "Integer"}, "/variables/x/value"),
        ({"value": "{", "type": "Json"}, "/variables/x/value"),
        ({"value": "tomorrow", "type": "Date"}, "/variables/x/value"),
        ({"value": "0001-01-01T00:00:00.000+1400", "type": "Date"}, "/variables/x/value"),
        ({"value": "***", "type": "Bytes"}, "/variables/x/value"),
        ({"value": "***", "type": "File"}, "/variables/x/value"),
        ({"value": 1, "type": "String"}, "/variables/x/value"),
        ({"value": 1, "type": "Boolean"}, "/variables/x/value"),
        ({"value": "x", "type": "Double"}, "/variables/x/value"),
        (
            {"value": "rO0=", "type": "Object", "valueInfo": {"serializationDataFormat": "application/java"}},
            "/variables/x/value",
        ),
    ],
)
def test_what_is_not_of_its_type_is_refused_by_its_place(given: Any, place: str) -> None:
    with pytest.raises(BadVariable) as refused:
        untyped({"x": given}, "/variables")
    assert [problem.pointer for problem in refused.value.problems] == [place]


def test_times_are_written_as_camunda_does() -> None:
    assert moment(datetime(2026, 3, 1, 12, 0, 0, 123999, tzinfo=UTC)) == "2026-03-01T12:00:00.123+0000"


def test_what_only_looks_like_a_typed_variable_is_given_as_it_is() -> None:
    """An author's value may be anything: a worker gets it, whatever it is."""
    odd = {"type": "Date", "value": "0001-01-01T00:00:00.000+1400"}
    assert typed(odd)["type"] == "Json"
