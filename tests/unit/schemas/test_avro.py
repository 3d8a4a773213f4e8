"""Avro's encoding, beside the one of a library that others use."""

import io
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.nodes.message_schemas import SchemaViolation, Undecodable
from muster.nodes.resolved import BadParameter
from muster.schemas.avro import decode, encode
from muster.schemas.avro_types import parse

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
                },
            },
        },
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "price", "type": "double"},
        {"name": "paid", "type": "boolean"},
        {"name": "raw", "type": "bytes"},
        {"name": "next", "type": ["null", "Order"], "default": None},
    ],
}
LINES = st.lists(
    st.fixed_dictionaries({"sku": st.text(), "count": st.integers(-(2**31), 2**31 - 1)}), max_size=3
)
FIELDS = {
    "id": st.integers(-(2**63), 2**63 - 1),
    "note": st.none() | st.text(),
    "lines": LINES,
    "kind": st.sampled_from(["NEW", "OLD"]),
    "tags": st.dictionaries(st.text(), st.text(), max_size=3),
    "price": st.floats(allow_nan=False, allow_infinity=False),
    "paid": st.booleans(),
    "raw": st.text(st.characters(max_codepoint=255)),
}
ORDERS = st.recursive(
    st.fixed_dictionaries({**FIELDS, "next": st.none()}),
    lambda inner: st.fixed_dictionaries({**FIELDS, "next": inner}),
    max_leaves=2,
)
TYPE = parse(ORDER)


def plain(order: Any) -> Any:
    """As the library gives it, and takes it: bytes are bytes there."""
    return (
        None
        if order is None
        else {**order, "raw": order["raw"].encode("latin-1"), "next": plain(order["next"])}
    )


@given(ORDERS)
def test_what_is_written_is_what_the_library_writes_and_is_read_back(order: Any) -> None:
    written = encode(TYPE, order)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), plain(order))
    assert written == out.getvalue()
    assert decode(TYPE, written) == order


@given(st.binary(max_size=60))
def test_what_is_no_message_is_said_to_be_none(data: bytes) -> None:
    with suppress(Undecodable):
        decode(TYPE, data)


GOOD = {
    "id": 1,
    "lines": [{"sku": "a", "count": 2}],
    "kind": "NEW",
    "tags": {"x": "y"},
    "price": 1.5,
    "paid": True,
    "raw": "",
}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"id": "1"}, "`/id`"),
        ({"id": True}, "`/id`"),
        ({"id": 2**63}, "`/id`"),
        ({"note": 5}, "`/note` should be one of null, string"),
        ({"lines": [{"sku": "a"}]}, "`/lines/0/count` is missing"),
        ({"lines": [{"sku": "a", "count": 1, "more": 1}]}, "`/lines/0/more` is no field of `shop.Line`"),
        ({"lines": {}}, "`/lines` should be a list"),
        ({"kind": "ODD"}, "`/kind` should be one of NEW, OLD"),
        ({"tags": {"x": 1}}, "`/tags/x` should be a text"),
        ({"price": "x"}, "`/price` should be a number"),
        ({"paid": 1}, "`/paid` should be true or false"),
        ({"raw": "\u0100"}, "`/raw` should be bytes"),
        ({"next": {"id": 2}}, "`/next/lines` is missing"),
    ],
)
def test_what_does_not_fit_is_said_by_its_place(change: dict[str, Any], place: str) -> None:
    assert decode(TYPE, encode(TYPE, GOOD))
    with pytest.raises(SchemaViolation) as refused:
        encode(TYPE, {**GOOD, **change})
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "value", "back"),
    [
        ({"type": "long", "logicalType": "timestamp-millis"}, "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        ({"type": "long", "logicalType": "timestamp-micros"}, 1, "1970-01-01T00:00:00.000001Z"),
        ({"type": "int", "logicalType": "date"}, "2026-03-01", "2026-03-01"),
        ({"type": "int", "logicalType": "time-millis"}, "00:00:01", 1000),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "-12.34", "-12.34"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, 1.28, "1.28"),
        ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "scale": 1}, "-0.1", "-0.1"),
        ({"type": "fixed", "name": "F", "size": 2}, "ab", "ab"),
        (["null", {"type": "record", "name": "R", "fields": []}], {"R": {}}, {}),
        (["string", "long"], {"long": 5}, 5),
        ({"type": {"type": "string"}}, "x", "x"),
        ({"type": "float"}, 0.5, 0.5),
    ],
)
def test_logical_types_and_unions(schema: Any, value: Any, back: object) -> None:
    kind = parse(schema)
    assert decode(kind, encode(kind, value)) == back


@pytest.mark.parametrize(
    "schema",
    [
        5,
        "Order",
        {"type": "record", "name": "R"},
        {"type": "enum", "name": "E"},
        {"type": "fixed", "name": "F"},
        [],
        {"type": "record", "fields": []},
        {"type": "array"},
        {"type": "record", "name": "R", "fields": [1]},
    ],
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(BadParameter, match="no Avro schema"):
        parse(schema)


def test_a_schema_may_refer_to_others() -> None:
    line = {"type": "record", "name": "shop.Line", "fields": [{"name": "sku", "type": "string"}]}
    order = {"type": "record", "name": "shop.Order", "fields": [{"name": "line", "type": "shop.Line"}]}
    kind = parse(order, {"line": line})
    assert decode(kind, encode(kind, {"line": {"sku": "a"}})) == {"line": {"sku": "a"}}
