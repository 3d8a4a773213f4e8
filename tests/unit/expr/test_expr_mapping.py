"""Output mappings: JSONPath and plain paths into received data."""

import time
from typing import Any

import pytest

from muster.expr import ExpressionError, compile_mapping
from muster.expr.errors import ExpressionSyntaxError

DATA: Any = {
    "id": 7,
    "none": None,
    "order-no": "A1",
    "items": [{"sku": "a", "price": 5}, {"sku": "b", "price": 15}],
    "customer": {"addresses": [{"city": "Graz"}]},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DATA),
        ("$.id", 7),
        ("$['order-no']", "A1"),
        ("$.customer.addresses[0].city", "Graz"),
        ("$.items[-1].sku", "b"),
        ("$.items[*].sku", ["a", "b"]),
        ("$.items[?@.price > 10].sku", ["b"]),
        ("$..city", ["Graz"]),
        ("$.items[?match(@.sku, '[a]')].price", [5]),
        ("$.items[?search(@.sku, 'b')].price", [15]),
        ("$.items[0:1]", [{"sku": "a", "price": 5}]),
        ("id", 7),
        ("customer.addresses[0].city", "Graz"),
        ("items[-1]['sku']", "b"),
        ("order-no", "A1"),
    ],
)
def test_a_path_finds_this(path: str, value: Any) -> None:
    assert compile_mapping(path).lookup(DATA) == (value, True)
    assert compile_mapping(path).find(DATA) == value


@pytest.mark.parametrize(
    "path", ["$.nope", "$.items[9]", "$.items[?@.price > 99]", "nope", "items[9]", "id.x", "items.sku"]
)
def test_what_is_not_there_is_none_and_says_so(path: str) -> None:
    assert compile_mapping(path).lookup(DATA) == (None, False)
    assert compile_mapping(path).find(DATA) is None


def test_a_null_that_is_there_was_found() -> None:
    assert compile_mapping("$.none").lookup(DATA) == (None, True)
    assert compile_mapping("none").lookup(DATA) == (None, True)


@pytest.mark.parametrize(
    "path",
    ["$.", "$[", "$.items[?", "$.a b", "$.items[?@.sku =~ /a/]", "$.~keys", "", ".a", "a..b", "a[x]", "a["],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        compile_mapping(path)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("$..*..*..*..*..*", [[[[[[1] * 8] * 8] * 8] * 8] * 8] * 8),
        ("$[?@..*[?@..*[?@..*]]]", [[[[1] * 20] * 20] * 20] * 20),
        ("$..x", [[[[[[1] * 10] * 10] * 10] * 10] * 10] * 10),
    ],
)
def test_a_path_that_visits_too_much_is_refused_in_time(path: str, data: Any) -> None:
    started = time.process_time()
    with pytest.raises(ExpressionError, match="visits more than"):
        compile_mapping(path).find(data)
    assert time.process_time() - started < 2


def test_a_catastrophic_pattern_in_a_path_takes_no_time() -> None:
    data: Any = {"items": ["a" * 5000 + "!"]}
    started = time.process_time()
    assert compile_mapping("$.items[?match(@, '(a+)+')]").find(data) is None
    assert time.process_time() - started < 0.5


def test_data_that_is_nested_too_deeply_is_an_error() -> None:
    data: Any = 1
    for _ in range(3000):
        data = [data]
    with pytest.raises(ExpressionError):
        compile_mapping("$..x").find(data)
