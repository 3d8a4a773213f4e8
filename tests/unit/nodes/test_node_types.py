"""Every node type's schema is one that people and programs can use."""

from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from muster.definitions.check import check
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue, NodeKind, NodeType
from muster.nodes import builtin, demo

TYPES = builtin()
CATALOGUE = Catalogue(TYPES, demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)
KINDS = {
    "TRIGGER": NodeKind.START,
    "SEND_EMAIL": NodeKind.EFFECT,
    "SEND_WHATSAPP": NodeKind.EFFECT,
    "QUERY": NodeKind.EFFECT,
    "ACTION": NodeKind.EFFECT,
    "TRANSFORM": NodeKind.PURE,
    "DATA_PROCESSOR": NodeKind.PURE,
    "delay": NodeKind.WAIT,
    "wait_events": NodeKind.WAIT,
    "KAFKA_COMMAND": NodeKind.WAIT,
    "KAFKA_PUBLISH": NodeKind.EFFECT,
    "REST_SYNC": NodeKind.EFFECT,
    "EXTERNAL_TASK": NodeKind.WAIT,
    "SUB_WORKFLOW": NodeKind.WAIT,
    "APPROVAL": NodeKind.WAIT,
    "NOOP": NodeKind.PURE,
    "FAIL": NodeKind.PURE,
    "LOG": NodeKind.PURE,
}
every_type = pytest.mark.parametrize("type_", TYPES.values(), ids=lambda each: each.name)


def test_all_types_are_there_with_their_kinds() -> None:
    assert {type_.name: type_.kind for type_ in TYPES.values()} == KINDS
    assert list(TYPES) == [name.upper() for name in KINDS]


@every_type
def test_the_schema_is_one_of_draft_2020_12(type_: NodeType) -> None:
    assert type_.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(type_.schema)


@every_type
def test_the_config_is_closed_so_that_a_slip_of_the_pen_is_found(type_: NodeType) -> None:
    assert type_.schema["additionalProperties"] is False
    document: JsonObject = {"nodes": [{"type": type_.name, "config": {"nobodyKnowsThis": 1}}]}
    assert "UNKNOWN_FIELD" in {problem.code for problem in check(document, CATALOGUE).errors}


@every_type
def test_every_field_has_a_title(type_: NodeType) -> None:
    properties = type_.schema["properties"]
    assert isinstance(properties, dict)
    nameless = [
        name
        for name, schema in properties.items()
        if isinstance(schema, dict) and "title" not in schema and "$ref" not in schema
    ]
    assert nameless == []


@every_type
def test_the_type_says_what_it_is(type_: NodeType) -> None:
    assert type_.title
    assert type_.description.endswith(".")
    assert type_.category in ("Start", "Logic", "Integration", "People", "Data")


@every_type
def test_its_examples_are_valid(type_: NodeType) -> None:
    assert type_.examples
    for example in type_.examples:
        found = check({"nodes": [{"type": type_.name, "config": example}]}, CATALOGUE)
        assert found.errors == ()


@every_type
def test_the_defaults_and_examples_in_its_schema_fit_it(type_: NodeType) -> None:
    for schema in _schemas(type_.schema):
        for value in [*_list(schema.get("examples")), *([schema["default"]] if "default" in schema else [])]:
            if isinstance(value, str) and "#{" in value:
                continue
            bare = {
                key: each for key, each in schema.items() if key in ("type", "enum", "minimum", "maximum")
            }
            assert Draft202012Validator(bare).is_valid(value), (schema, value)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _schemas(value: Json) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        if "title" in value:
            yield value
        for inner in value.values():
            yield from _schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schemas(inner)


def test_the_demo_gives_each_query_its_result_name() -> None:
    assert demo.QUERIES["getUsersForNotification"] == "users"
    query = TYPES["QUERY"]
    assert query.sets({"prebuiltKey": "getUsersForNotification"}, demo.QUERIES) == {"users"}
    assert query.sets({"prebuiltKey": "unknown"}, demo.QUERIES) is None


@pytest.mark.parametrize("template", demo.TEMPLATES.values(), ids=lambda each: each.id)
def test_the_demos_templates_are_of_types_that_exist(template: object) -> None:
    assert template.node_type in TYPES  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("type_", "config", "names"),
    [
        ("TRANSFORM", {"transformations": [{"field": "a.b", "expression": 1}]}, {"a"}),
        ("TRANSFORM", {"on": "#{x}", "output": "rows"}, {"rows"}),
        ("TRANSFORM", {"on": "#{x}"}, {"x"}),
        ("TRANSFORM", {"on": "#{x.rows}"}, set()),
        ("DATA_PROCESSOR", {"output": "rows"}, {"rows"}),
        ("DATA_PROCESSOR", {}, set()),
        ("REST_SYNC", {"url": "u"}, {"status", "headers", "body"}),
        ("REST_SYNC", {"url": "u", "outputMapping": {"order": "$.body"}}, {"order"}),
        ("KAFKA_COMMAND", {"outputMapping": {"exportId": "$.exportId"}}, {"exportId"}),
        ("KAFKA_COMMAND", {}, None),
        ("EXTERNAL_TASK", {"topic": "t"}, None),
        ("LOG", {"message": "x"}, set()),
    ],
)
def test_what_a_node_sets_is_known_where_it_can_be(
    type_: str, config: JsonObject, names: set[str] | None
) -> None:
    assert TYPES[type_].sets(config, demo.QUERIES) == names


def test_a_wait_sets_its_events_under_the_names_they_are_mapped_to() -> None:
    config: JsonObject = {
        "apiCall": {"url": "u"},
        "kafkaEvent": {"topic": "t"},
        "events": [{"name": "paid", "source": "webhook"}],
        "outputMapping": {"apiResponse": "answer"},
    }
    names = TYPES["WAIT_EVENTS"].sets(config, {})
    assert names is not None
    assert {"answer", "kafka_event", "paid"} <= names
    assert "api_response" not in names


def test_for_each_may_be_nested_five_deep_and_no_deeper() -> None:
    def nested(depth: int) -> JsonObject:
        inner: JsonObject = {"subject": "x"}
        for _ in range(depth):
            inner = {"forEach": inner}
        return {"on": "#{item.list}", **inner}

    def codes(depth: int) -> list[str]:
        document: JsonObject = {"nodes": [{"type": "SEND_EMAIL", "config": nested(depth)}]}
        return [problem.code for problem in check(document, CATALOGUE).errors]

    assert codes(5) == []
    assert codes(6) == ["OUT_OF_RANGE"]
