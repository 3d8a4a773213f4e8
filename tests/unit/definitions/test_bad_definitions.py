"""Each mistake that can be known before running is found, with its code and its place; and all at once."""

import json
import operator
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.definitions.check import check
from muster.definitions.idempotency_settings import STRATEGIES
from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.model.json import Json, JsonObject
from muster.model.problems import Level
from unit.definitions.catalogue_for_tests import CATALOGUE, checked, errors, one_node, places


def nodes(*entries: Json, **more: Json) -> JsonObject:
    return {"name": "Test", "nodes": list(entries), **more}


def noop(id: Json, **more: Json) -> JsonObject:
    return {"id": id, "type": "NOOP", **more}


EVERY_HOUR: JsonObject = {"type": "INTERVAL", "intervalMinutes": 60}

BAD: list[tuple[Json, list[tuple[str, str]]]] = [
    # --- the document
    ([], [("NOT_AN_OBJECT", "")]),
    ("text", [("NOT_AN_OBJECT", "")]),
    ({}, [("EMPTY_DEFINITION", "")]),
    ({"name": "x"}, [("NOT_A_WORKFLOW", "")]),
    ({"name": "x", "nodez": [noop("a")]}, [("NOT_A_WORKFLOW", ""), ("UNKNOWN_FIELD", "/nodez")]),
    ({"nodeType": "NOOP", "configJson": {}}, [("NOT_A_WORKFLOW", "")]),
    ({"dataProcessorType": "ITERATOR", "config": {}}, [("NOT_A_WORKFLOW", "")]),
    ({"routing": [{"type": "goto", "targetNodeId": "x"}]}, [("NOT_A_WORKFLOW", "")]),
    ({"nodes": []}, [("EMPTY_DEFINITION", "/nodes")]),
    ({"workflow": {"name": "x"}}, [("EMPTY_DEFINITION", "")]),
    ({"nodes": {"a": {}}}, [("WRONG_TYPE", "/nodes"), ("EMPTY_DEFINITION", "")]),
    (nodes("text"), [("WRONG_TYPE", "/nodes/0")]),
    (nodes(noop("a"), nmae="x"), [("UNKNOWN_FIELD", "/nmae")]),
    ({"workflow": {"nodes": [noop("a")], "statuss": "ACTIVE"}}, [("UNKNOWN_FIELD", "/workflow/statuss")]),
    ({"workflow": {"status": "LIVE"}, "nodes": [noop("a")]}, [("NOT_ALLOWED", "/workflow/status")]),
    ({"workflow": {"nodes": [noop("a")]}, "nodes": [noop("b")]}, [("GIVEN_TWICE", "/workflow/nodes")]),
    (
        {"name": "x", "workflow": {"name": "y", "nodes": [noop("a")]}},
        [("GIVEN_TWICE", "/workflow/name")],
    ),
    (
        nodes(noop("a"), key="mine", schedule={**EVERY_HOUR, "workflowId": "other"}),
        [("OTHER_WORKFLOW", "/schedule/workflowId")],
    ),
    (
        nodes(noop("a"), id="mine", schedules=[EVERY_HOUR, {**EVERY_HOUR, "workflowId": 7}]),
        [("OTHER_WORKFLOW", "/schedules/1/workflowId")],
    ),
    (one_node({"url": "file:///etc/hosts"}, "REST_SYNC"), [("INVALID_URL", "/nodes/0/config/url")]),
    (
        one_node({"apiCall": {"url": "javascript:alert(1)"}}, "wait_events"),
        [("INVALID_URL", "/nodes/0/config/apiCall/url")],
    ),
    (nodes(noop("a"), steps=[noop("b")]), [("GIVEN_TWICE", "/steps")]),
    (nodes(noop("a"), key="has blanks"), [("INVALID_KEY", "/key")]),
    (nodes(noop("a"), key="validate"), [("RESERVED_KEY", "/key")]),
    (nodes(noop("a"), concurrency={"limit": 0}), [("OUT_OF_RANGE", "/concurrency/limit")]),
    (nodes(noop("a"), durability="memory"), [("NOT_ALLOWED", "/durability")]),
    (nodes(noop("a"), output={"x": "#{1 +}"}), [("INVALID_EXPRESSION", "/output/x")]),
    # --- nodes
    (nodes(noop("a"), noop("a")), [("DUPLICATE_ID", "/nodes/1/id")]),
    (nodes(noop("")), [("INVALID_ID", "/nodes/0/id")]),
    (nodes(noop(" a")), [("INVALID_ID", "/nodes/0/id")]),
    (nodes(noop("a" * 101)), [("INVALID_ID", "/nodes/0/id")]),
    (nodes(noop("a"), {"type": "NOOP"}, routing=[{"from": "a", "to": "a"}]), [("MISSING_ID", "/nodes/1")]),
    (nodes({"id": "a"}), [("MISSING_TYPE", "/nodes/0")]),
    (nodes({"type": "SEND_MAIL"}), [("UNKNOWN_NODE_TYPE", "/nodes/0/type")]),
    (nodes({"type": "NOOP", "nodeType": "LOG"}), [("GIVEN_TWICE", "/nodes/0/nodeType")]),
    (nodes({"type": "NOOP", "config": {}, "data": {}}), [("GIVEN_TWICE", "/nodes/0/data")]),
    (nodes({"type": "NOOP", "cofnig": {}}), [("UNKNOWN_FIELD", "/nodes/0/cofnig")]),
    (nodes({"type": "LOG", "config": "{not json"}), [("INVALID_JSON", "/nodes/0/config")]),
    (nodes({"type": "LOG", "config": "[1]"}), [("WRONG_TYPE", "/nodes/0/config")]),
    (nodes({"nodeTemplateId": "template_qeury"}), [("UNKNOWN_TEMPLATE", "/nodes/0/nodeTemplateId")]),
    (
        nodes(
            {"nodeTemplateId": "template_query", "type": "LOG", "config": {"prebuiltKey": "getNewStudents"}}
        ),
        [("TYPE_CONFLICT", "/nodes/0/nodeTemplateId")],
    ),
    (
        nodes(noop("a", isStartNode=True), noop("b", isStartNode=True)),
        [("SEVERAL_START_NODES", "/nodes/1/isStartNode")],
    ),
    (nodes(noop("a", timeout="soon")), [("INVALID_DURATION", "/nodes/0/timeout")]),
    (nodes(noop("a", retry={"maxAttempts": 0})), [("OUT_OF_RANGE", "/nodes/0/retry/maxAttempts")]),
    (nodes(noop("a", retry={"initialDelay": "1 x"})), [("INVALID_DURATION", "/nodes/0/retry/initialDelay")]),
    (nodes(noop("a", onError="ignore")), [("WRONG_TYPE", "/nodes/0/onError")]),
    (nodes(noop("a", onError={"goto": "b"})), [("UNKNOWN_TARGET", "/nodes/0/onError/goto")]),
    (nodes(noop("a", join="first")), [("NOT_ALLOWED", "/nodes/0/join")]),
    (nodes(noop("a", maxVisits=0)), [("OUT_OF_RANGE", "/nodes/0/maxVisits")]),
    (nodes(noop("a", compensate={"config": {}})), [("MISSING_TYPE", "/nodes/0/compensate")]),
    (
        nodes(noop("a", compensate={"type": "ACTION", "config": {"actiontype": ""}})),
        [
            ("UNKNOWN_FIELD", "/nodes/0/compensate/config/actiontype"),
            ("MISSING_FIELD", "/nodes/0/compensate/config"),
        ],
    ),
    (nodes(noop("a", dedupe={"key": "#{x"})), [("INVALID_EXPRESSION", "/nodes/0/dedupe/key")]),
    # --- routing
    (nodes(noop("a", routing=[{"type": "jump"}])), [("NOT_ALLOWED", "/nodes/0/routing/0/type")]),
    (nodes(noop("a", routing=[{"type": "goto"}])), [("MISSING_TARGET", "/nodes/0/routing/0")]),
    (
        nodes(noop("a", routing=[{"type": "goto", "targetNodeId": "b"}])),
        [("UNKNOWN_TARGET", "/nodes/0/routing/0/targetNodeId")],
    ),
    (
        nodes(noop("a", routing=[{"type": "conditional", "trueNodeId": "a"}])),
        [("MISSING_CONDITION", "/nodes/0/routing/0")],
    ),
    (
        nodes(noop("a", routing=[{"type": "conditional", "condition": "#{x >}", "trueNodeId": "a"}])),
        [("INVALID_EXPRESSION", "/nodes/0/routing/0/condition")],
    ),
    (
        nodes(noop("a", routing=[{"type": "switch", "defaultNodeId": "a"}])),
        [("MISSING_EXPRESSION", "/nodes/0/routing/0")],
    ),
    (
        nodes(
            noop(
                "a",
                routing=[
                    {
                        "type": "switch",
                        "expression": "#{x}",
                        "cases": [{"value": 1, "targetNodeId": "zz"}],
                        "defaultNodeId": "a",
                    }
                ],
            )
        ),
        [("UNKNOWN_TARGET", "/nodes/0/routing/0/cases/0/targetNodeId")],
    ),
    (
        nodes(noop("a", routing=[{"type": "goto", "targetNodeId": "a", "condition": "#{x}"}])),
        [("UNKNOWN_FIELD", "/nodes/0/routing/0/condition")],
    ),
    (
        nodes(noop("a"), routing=[{"fromNodeId": "b", "toNodeId": "a", "type": "goto"}]),
        [("UNKNOWN_TARGET", "/routing/0/fromNodeId")],
    ),
    (nodes(noop("a"), routing=[{"toNodeId": "a"}]), [("MISSING_FIELD", "/routing/0")]),
    (
        nodes(noop("a"), routing=[{"from": "a", "to": "a", "absoluteDeadline": "25:00"}]),
        [("INVALID_TIME", "/routing/0/absoluteDeadline")],
    ),
    # --- an expression cannot stand for a part of the frame
    ({"nodes": "#{a}"}, [("WRONG_TYPE", "/nodes"), ("EMPTY_DEFINITION", "")]),
    (nodes(noop("a"), routing="#{a}"), [("WRONG_TYPE", "/routing")]),
    (nodes(noop("a"), schedule=["#{a}"]), [("WRONG_TYPE", "/schedule/0")]),
    (nodes(noop("a"), vars="#{a}"), [("WRONG_TYPE", "/vars")]),
    (nodes(noop("a"), concurrency="#{a}"), [("WRONG_TYPE", "/concurrency")]),
    (nodes(noop("a", retry="#{a}")), [("WRONG_TYPE", "/nodes/0/retry")]),
    (nodes(noop("a", onError="#{a}")), [("WRONG_TYPE", "/nodes/0/onError")]),
    (nodes(noop("a", compensate="#{a}")), [("WRONG_TYPE", "/nodes/0/compensate")]),
    (
        one_node({"idempotencyGenerationSetting": "#{a}"}, "TRIGGER"),
        [("WRONG_TYPE", "/nodes/0/config/idempotencyGenerationSetting")],
    ),
    (one_node({"apiCall": "#{a}"}, "wait_events"), [("WRONG_TYPE", "/nodes/0/config/apiCall")]),
    (
        one_node({"actionType": "updateStudentStatus", "forEach": "#{a}"}, "ACTION"),
        [("WRONG_TYPE", "/nodes/0/config/forEach")],
    ),
    # --- configs
    (one_node({"prebuiltKey": "getNewStudent"}, "QUERY"), [("UNKNOWN_QUERY", "/nodes/0/config/prebuiltKey")]),
    (one_node({}, "QUERY"), [("MISSING_FIELD", "/nodes/0/config")]),
    (nodes({"type": "QUERY"}), [("MISSING_FIELD", "/nodes/0")]),
    (one_node({"actionType": "drop"}, "ACTION"), [("UNKNOWN_ACTION", "/nodes/0/config/actionType")]),
    (
        one_node({"actionType": "#{which}"}, "ACTION"),
        [("UNKNOWN_ACTION", "/nodes/0/config/actionType")],
    ),
    (
        nodes({"nodeTemplateId": "template_query", "overrideConfig": {"prebuiltKey": "nope"}}),
        [("UNKNOWN_QUERY", "/nodes/0/overrideConfig/prebuiltKey")],
    ),
    (
        nodes({"nodeTemplateId": "template_query", "overrideConfig": '{"prebuiltKey": "nope"}'}),
        [("UNKNOWN_QUERY", "/nodes/0/nodeTemplateId")],
    ),
    (nodes({"nodeTemplateId": "template_query"}), [("MISSING_FIELD", "/nodes/0/nodeTemplateId")]),
    (
        one_node({"subject": "x", "to": "a", "body": "Dear #{item.name"}, "SEND_EMAIL"),
        [("INVALID_EXPRESSION", "/nodes/0/config/body")],
    ),
    (
        one_node({"on": "#{users}", "forEach": {"subjekt": "x", "body": "y"}}, "SEND_EMAIL"),
        [("UNKNOWN_FIELD", "/nodes/0/config/forEach/subjekt")],
    ),
    (
        one_node({"on": "#{users}", "forEach": {"operation": "SWITCH", "body": "x"}}, "SEND_EMAIL"),
        [("MISSING_FIELD", "/nodes/0/config/forEach"), ("MISSING_FIELD", "/nodes/0/config/forEach")],
    ),
    (one_node({"to": "a@example.org"}, "SEND_EMAIL"), [("MISSING_FIELD", "/nodes/0/config")]),
    (one_node({"topic": "no blanks"}, "KAFKA_PUBLISH"), [("INVALID_TOPIC", "/nodes/0/config/topic")]),
    (one_node({"topic": "muster.publisher"}, "KAFKA_PUBLISH"), [("INVALID_TOPIC", "/nodes/0/config/topic")]),
    (
        one_node({"topic": "t", "schema": {"type": "JSON_SCHEMA"}}, "KAFKA_PUBLISH"),
        [("MISSING_FIELD", "/nodes/0/config/schema")],
    ),
    (
        one_node(
            {
                "commandTopic": "c",
                "replyTopic": "r",
                "schema": {"type": "JSON_SCHEMA", "schema": {"type": "strin"}},
                "replySchema": {"type": "ASYNCAPI", "document": {"asyncapi": "9.0.0"}},
                "compensation": {"command": {}, "schema": {"type": "ASYNCAPI"}},
            },
            "KAFKA_COMMAND",
        ),
        [
            ("INVALID_VALUE", "/nodes/0/config/schema/schema/type"),
            ("INVALID_VALUE", "/nodes/0/config/replySchema/document"),
            ("MISSING_FIELD", "/nodes/0/config/compensation/schema"),
        ],
    ),
    (
        one_node({"commandTopic": "c", "replyTopic": "c"}, "KAFKA_COMMAND"),
        [("NOT_ALLOWED", "/nodes/0/config/replyTopic")],
    ),
    (
        one_node(
            {
                "commandTopic": "c",
                "replyTopic": "r",
                "compensation": {"command": {}, "topic": "r"},
                "dlq": {"topic": "c"},
            },
            "KAFKA_COMMAND",
        ),
        [
            ("NOT_ALLOWED", "/nodes/0/config/compensation/topic"),
            ("NOT_ALLOWED", "/nodes/0/config/dlq/topic"),
        ],
    ),
    (
        one_node({"kafkaEvent": {"topic": "#{topic}"}}, "wait_events"),
        [("INVALID_TOPIC", "/nodes/0/config/kafkaEvent/topic")],
    ),
    (one_node({"apiCall": {}}, "wait_events"), [("MISSING_FIELD", "/nodes/0/config/apiCall")]),
    (
        one_node({"kafkaEvent": {"topic": "t"}, "aggregationStrategy": "most"}, "wait_events"),
        [("NOT_ALLOWED", "/nodes/0/config/aggregationStrategy")],
    ),
    (
        one_node(
            {
                "kafkaEvent": {"topic": "t"},
                "aggregationStrategy": "custom",
                "requiredEvents": ["api_response"],
            },
            "wait_events",
        ),
        [("NOT_ALLOWED", "/nodes/0/config/requiredEvents")],
    ),
    (
        one_node(
            {"commandTopic": "c", "replyTopic": "r", "timeout": "5x", "outputMapping": {"a": "$.["}},
            "KAFKA_COMMAND",
        ),
        [
            ("INVALID_DURATION", "/nodes/0/config/timeout"),
            ("INVALID_EXPRESSION", "/nodes/0/config/outputMapping/a"),
        ],
    ),
    (one_node({"duration": "1 fortnight"}, "delay"), [("INVALID_DURATION", "/nodes/0/config/duration")]),
    (one_node({"until": "tomorrow"}, "delay"), [("INVALID_TIME", "/nodes/0/config/until")]),
    (one_node({}, "delay"), [("MISSING_FIELD", "/nodes/0/config")]),
    (
        one_node({"transformations": [{"field": "x", "expression": "#{T(java.lang.Runtime)}"}]}, "TRANSFORM"),
        [("INVALID_EXPRESSION", "/nodes/0/config/transformations/0/expression")],
    ),
    (
        one_node({"triggerType": "webhook", "condition": "a >"}, "TRIGGER"),
        [("INVALID_EXPRESSION", "/nodes/0/config/condition")],
    ),
    # --- schedules and triggers
    (
        nodes(noop("a"), schedule={"type": "CRON", "expression": "61 * * * *"}),
        [("INVALID_CRON", "/schedule/expression")],
    ),
    (nodes(noop("a"), schedule={"type": "CRON"}), [("MISSING_FIELD", "/schedule")]),
    (
        nodes(noop("a"), schedule={**EVERY_HOUR, "startDate": "0001-01-01T00:00:00+05:00"}),
        [("INVALID_TIME", "/schedule/startDate")],
    ),
    (
        nodes(
            noop("a"),
            schedule=[
                {
                    **EVERY_HOUR,
                    "timezone": "America/New_York",
                    "startDate": "0001-01-01T00:00:00+05:00",
                    "endDate": "0001-01-01T00:00:00+06:00",
                }
            ],
        ),
        [("INVALID_TIME", "/schedule/0/startDate"), ("INVALID_TIME", "/schedule/0/endDate")],
    ),
    (
        nodes(noop("a"), schedule={**EVERY_HOUR, "startDate": "2026-01-02", "endDate": "2026-01-01"}),
        [("OUT_OF_RANGE", "/schedule/endDate")],
    ),
    (
        nodes(noop("a"), schedule=[{"scheduleType": "MONTHLY", "dayOfMonth": 1, "timezone": "Mars/Base"}]),
        [("INVALID_TIMEZONE", "/schedule/0/timezone")],
    ),
    (
        one_node({"idempotencyGenerationSetting": {"strategy": "SOMETIMES"}}, "TRIGGER"),
        [("NOT_ALLOWED", "/nodes/0/config/idempotencyGenerationSetting/strategy")],
    ),
    (
        one_node({"idempotencyGenerationSetting": {"strategy": "TIME_WINDOW"}}, "TRIGGER"),
        [("MISSING_FIELD", "/nodes/0/config/idempotencyGenerationSetting")],
    ),
]


@pytest.mark.parametrize(("document", "expected"), BAD, ids=[json.dumps(bad)[:60] for bad, _ in BAD])
def test_every_mistake_is_found_in_its_place(document: Json, expected: list[tuple[str, str]]) -> None:
    assert errors(document) == expected


def test_all_mistakes_come_back_at_once() -> None:
    document = nodes(
        noop("a", timeout="soon", routing=[{"targetNodeId": "nowhere"}]),
        {"id": "b", "type": "SEND_MAIL"},
        {"id": "c", "type": "LOG", "config": {"message": "#{"}},
        schedule={"type": "CRON", "expression": "x"},
    )
    assert {code for code, _ in errors(document)} == {
        "INVALID_CRON",
        "INVALID_DURATION",
        "UNKNOWN_TARGET",
        "UNKNOWN_NODE_TYPE",
        "INVALID_EXPRESSION",
    }


@pytest.mark.parametrize(
    ("document", "suggestion"),
    [
        (nodes({"type": "SEND_MAIL"}), "did you mean `SEND_EMAIL`?"),
        (
            nodes(
                noop("a", routing=[{"type": "goto", "targetNodeId": "send_mail_node"}]),
                noop("send_email_node"),
            ),
            "did you mean `send_email_node`?",
        ),
        (one_node({"prebuiltKey": "getNewStudent"}, "QUERY"), "did you mean `getNewStudents`?"),
        (nodes({"nodeTemplateId": "template_qeury"}), "did you mean `template_query`?"),
        (nodes(noop("a"), nmae="x"), "did you mean `name`?"),
        (nodes(noop("a"), key="Student Onboarding"), "how about `student-onboarding`?"),
        (
            nodes(noop("a"), schedule={"type": "MONTHLY", "dayOfMonth": 1, "timezone": "Asia/Kolkatta"}),
            "did you mean `Asia/Kolkata`?",
        ),
    ],
)
def test_where_it_can_be_guessed_the_fix_is_suggested(document: Json, suggestion: str) -> None:
    assert checked(document).errors[0].suggestion == suggestion


def test_an_expression_that_does_not_parse_says_at_which_column() -> None:
    (problem,) = checked(one_node({"message": "Total: #{1 + }"}, "LOG")).errors
    assert (problem.code, problem.column) == ("INVALID_EXPRESSION", 14)


def test_a_fragment_is_told_what_it_is_and_what_a_workflow_looks_like() -> None:
    (problem,) = checked({"nodeType": "QUERY", "configJson": {"prebuiltKey": "x"}}).errors
    assert "single node" in problem.message
    assert "nodes: [{type, config}" in problem.message


def test_a_value_of_the_template_is_named_where_the_pointer_cannot_reach() -> None:
    document = nodes({"nodeTemplateId": "template_query", "overrideConfig": '{"prebuiltKey": "nope"}'})
    (problem,) = checked(document).errors
    assert problem.message == "`prebuiltKey`: There is no query `nope`."


def test_five_hundred_nodes_are_allowed_and_one_more_is_not() -> None:
    entries: list[Json] = [noop(f"n{number}") for number in range(501)]
    assert errors({"name": "x", "nodes": entries[:500]}) == []
    assert errors({"name": "x", "nodes": entries}) == [("TOO_MANY_NODES", "/nodes")]


def test_no_number_of_warnings_hides_an_error_or_loses_a_node() -> None:
    message = " ".join(f"#{{v{number}}}" for number in range(10))
    entries: list[Json] = [
        {"id": f"n{number}", "type": "LOG", "config": {"message": message}} for number in range(200)
    ]
    found = checked({"name": "x", "nodes": entries})
    assert len(found.warnings) == 1000
    assert found.definition is not None
    assert len(found.definition.nodes) == 200
    wrong: list[Json] = [*entries, {"id": "last", "type": "NOPE"}]
    assert errors({"name": "x", "nodes": wrong}) == [("UNKNOWN_NODE_TYPE", "/nodes/200/type")]


def test_so_many_errors_that_nobody_reads_them_all_are_cut_off() -> None:
    entries: list[Json] = [
        {"type": "NOOP", "config": {f"x{field}": 1 for field in range(10)}} for _ in range(200)
    ]
    found = checked({"name": "x", "nodes": entries})
    assert len(found.errors) == 1000
    assert found.definition is None


def test_a_text_that_was_short_enough_is_not_too_large_once_it_is_read() -> None:
    text = json.dumps(one_node({"message": "x", "data": [1] * 400}, "LOG"), separators=(",", ":"))
    document = read_json(text, Limits(bytes=len(text)))
    assert "TOO_LARGE" not in [p.code for p in check(document, CATALOGUE, Limits(bytes=len(text))).errors]


def test_values_may_not_be_too_deep_either() -> None:
    deep: Json = "x"
    for _ in range(100):
        deep = [deep]
    assert errors({"nodes": [{"type": "NOOP", "config": {"message": deep}}]}) == [("TOO_DEEP", "")]


def test_a_value_that_is_one_expression_fits_any_type_and_text_with_one_does_not() -> None:
    config: JsonObject = {"topic": "charge", "priority": "#{priority}", "retries": "#{a}"}
    assert errors(one_node(config, "EXTERNAL_TASK")) == []
    assert errors(one_node({**config, "priority": "1#{priority}"}, "EXTERNAL_TASK")) == [
        ("WRONG_TYPE", "/nodes/0/config/priority")
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=15,
)
WORDS = st.sampled_from(
    [
        "id",
        "type",
        "config",
        "configJson",
        "data",
        "overrideConfig",
        "nodeTemplateId",
        "routing",
        "nodeOrder",
        "isStartNode",
        "onError",
        "retry",
        "compensate",
        "on",
        "forEach",
        "cases",
        "goto",
        "fromNodeId",
        "toNodeId",
        "targetNodeId",
        "condition",
        "expression",
        "value",
        "timeout",
        "apiCall",
        "kafkaEvent",
        "schedule",
        "events",
        "operation",
        "default",
        "name",
        "key",
        "vars",
        "output",
        "triggerType",
        "dataProcessorType",
        "transformations",
        "idempotencyGenerationSetting",
        "strategy",
        "aggregationStrategy",
    ]
)
TYPES = st.sampled_from([each.name for each in CATALOGUE.node_types.values()])
# Times at the ends of the calendar too: in another zone they are beyond it.
DATES = st.builds(
    operator.add,
    st.datetimes().map(datetime.isoformat) | st.sampled_from(["0001-01-01T00:00:00", "9999-12-31T23:59:59"]),
    st.sampled_from(["", "Z", "+14:00", "-12:00"]),
)
SCHEDULES = st.fixed_dictionaries(
    {name: st.just(value) for name, value in EVERY_HOUR.items()},
    optional={
        "startDate": DATES,
        "endDate": DATES,
        "timezone": st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York"]),
    },
)
VALUES = st.recursive(
    JSON
    | TYPES
    | WORDS
    | DATES
    | st.sampled_from(["#{a}", "#{a", "SWITCH", "conditional", "switch", "a", True, "5m"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)
NODES = st.builds(
    lambda type_, config, more: {**more, "type": type_, "config": config},
    TYPES,
    st.dictionaries(WORDS, VALUES, max_size=5) | VALUES,
    st.dictionaries(WORDS, VALUES, max_size=4),
)


@given(
    JSON
    | st.fixed_dictionaries(
        {"nodes": st.lists(NODES | VALUES, max_size=4)},
        optional={"routing": VALUES, "schedule": SCHEDULES | st.lists(SCHEDULES | VALUES, max_size=3)},
    )
    | st.fixed_dictionaries(
        {"workflow": st.dictionaries(WORDS, VALUES), "steps": st.lists(NODES, max_size=3)}
    )
)
def test_no_document_makes_the_check_fail(document: Json) -> None:
    found = check(document, CATALOGUE)
    assert (found.definition is not None) == (not found.errors)
    for problem in found.problems:
        assert _reaches(document, problem.pointer), problem


@given(SCHEDULES)
def test_no_schedule_makes_the_check_fail(schedule: JsonObject) -> None:
    found = {code for code, _ in errors(nodes(noop("a"), schedule=schedule))}
    assert found <= {"INVALID_TIME", "OUT_OF_RANGE"}


def _reaches(document: Json, pointer: str) -> bool:
    """Whether a JSON pointer names something that is in the document."""
    value = document
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return False
    return True


def test_every_code_that_can_be_raised_is_documented_with_an_example() -> None:
    root = Path(__file__).parents[3]
    raised: set[str] = set()
    for package in ("definitions", "nodes"):
        for path in (root / "src" / "muster" / package).rglob("*.py"):
            if path.name != "sql.py":  # of registered queries, not of definitions
                raised |= codes_in(path)
    raised -= {each.name for each in CATALOGUE.node_types.values()} | NOT_CODES
    documented = codes_explained(root / "docs" / "definitions.md")
    assert raised <= documented, raised - documented
    assert documented <= raised | {"UNREADABLE"}, documented - raised
    assert {code for bad, _ in BAD for code, _ in places(bad)} <= documented


def test_every_code_of_a_registered_query_is_documented() -> None:
    root = Path(__file__).parents[3]
    assert codes_in(root / "src" / "muster" / "nodes" / "sql.py") == codes_explained(
        root / "docs" / "data.md"
    )


def codes_in(path: Path) -> set[str]:
    return set(re.findall(r'"([A-Z]{3,}(?:_[A-Z]+)+)"', path.read_text()))


def codes_explained(path: Path) -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` \|", path.read_text(), re.M))


NOT_CODES = {
    "JSON_SCHEMA",
    "WAIT_EVENTS",
    "SCHEMA_VIOLATION",
    "SCHEMA_AWAY",
    "NO_CORRELATION_ID",
    "DEFAULT_LIMITS",
    "EXPORT_DATA",
    "LEARNER_BATCH_ENROLLMENT",
    *STRATEGIES,
}


def test_the_levels_of_problems_are_errors_and_warnings() -> None:
    found = checked(one_node({"on": "#{nobody}", "forEach": {"subject": "x"}}, "SEND_EMAIL"))
    assert [problem.level for problem in found.problems] == [Level.WARNING]


def test_a_slip_in_the_name_of_the_nodes_is_seen_for_what_it_is() -> None:
    slip = checked({"name": "x", "nodez": [noop("a")]}).errors[1]
    assert "`nodes`" in str(slip.suggestion)


def test_an_address_that_is_refused_is_not_repeated() -> None:
    (problem,) = checked(one_node({"url": "ftp://ada:hunter2@example.org"}, "REST_SYNC")).errors
    assert "hunter2" not in problem.message


@pytest.mark.parametrize("url", ["https://example.org", "HTTP://example.org", "#{base}/x", "#{base}"])
def test_an_address_is_of_the_web_or_known_only_when_it_runs(url: str) -> None:
    assert errors(one_node({"url": url}, "REST_SYNC")) == []


@pytest.mark.parametrize("names", [{"key": "mine", "id": "theirs"}, {"id": "mine"}, {}])
def test_a_schedule_may_name_the_workflow_that_it_stands_in(names: JsonObject) -> None:
    assert errors(nodes(noop("a"), schedule={**EVERY_HOUR, "workflowId": "mine"}, **names)) == []


def test_a_path_that_is_no_json_path_has_a_column() -> None:
    document = one_node({"url": "https://example.org", "outputMapping": {"order": "$.body[?"}}, "REST_SYNC")
    (problem,) = checked(document).errors
    assert problem.pointer == "/nodes/0/config/outputMapping/order"
    assert problem.column == 9
