"""Merging, cron, durations, topics, schedules, triggers and idempotency settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.definitions.cron import cron_flaw
from muster.definitions.durations import parse_duration
from muster.definitions.formats import topic_flaw
from muster.definitions.idempotency_settings import check_idempotency
from muster.definitions.merge import merge
from muster.definitions.names import numbered, slug
from muster.definitions.pointers import Below
from muster.definitions.problems import Problems
from muster.definitions.schedules import read_schedule
from muster.definitions.triggers import TRIGGER, check_trigger_meaning
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem


def check_schedule(block: Json) -> tuple[Problem, ...]:
    problems = Problems()
    assert (read_schedule(block, "", problems) is None) == problems.any_error
    return problems.all


def check_trigger(block: JsonObject, pointer: str = "") -> tuple[Problem, ...]:
    problems = Problems()
    if problems.hold(block, TRIGGER, Below(pointer)):
        problems.add_all(check_trigger_meaning(block, pointer))
    return problems.all


OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), st.none() | st.integers() | st.lists(st.integers(), max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | st.integers() | st.none(), max_size=3),
    max_leaves=8,
)


def test_a_merge_goes_deep_replaces_lists_and_deletes_by_null() -> None:
    base: JsonObject = {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"z": 1}}
    own: JsonObject = {"a": {"y": [3], "w": 4}, "b": None, "c": 5}
    assert merge(base, own) == {"a": {"x": 1, "y": [3], "w": 4}, "c": 5}


@given(OBJECTS, OBJECTS)
def test_merging_the_same_twice_is_merging_it_once(base: JsonObject, own: JsonObject) -> None:
    assert merge(merge(base, own), own) == merge(base, own)


@given(OBJECTS)
def test_merging_nothing_changes_nothing(base: JsonObject) -> None:
    assert merge(base, {}) == base


@given(OBJECTS, OBJECTS)
def test_a_merge_leaves_what_it_is_given_alone(base: JsonObject, own: JsonObject) -> None:
    before = repr((base, own))
    merge(base, own)
    assert repr((base, own)) == before


@given(OBJECTS, OBJECTS)
def test_own_keys_win(base: JsonObject, own: JsonObject) -> None:
    merged = merge(base, own)
    for key, value in own.items():
        if value is None:
            assert key not in merged
        elif not isinstance(value, dict):
            assert merged[key] == value


@pytest.mark.parametrize(
    "expression",
    [
        "0 9 * * MON-FRI",
        "*/15 * * * *",
        "0 0 1 1 *",
        "0 0 L * *",
        "0 0 * * 5L",
        "0 0 * * FRI#3",
        "30 0 9 ? * mon-fri",
        "0 0 29 2 *",
        "0 0 31 1,3 *",
        "0 0 31 2 MON",
        "5/15 0-6,22,23 1-31/2 JAN-JUN 0,7",
        "0 0 * * FRI-SUN",
    ],
)
def test_a_cron_expression_is_understood(expression: str) -> None:
    assert cron_flaw(expression) is None


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "has five fields"),
        ("* * * *", "this has 4"),
        ("* * * * * * *", "this has 7"),
        ("60 * * * *", "`60` is not a minute"),
        ("* 24 * * *", "`24` is not an hour"),
        ("* * 0 * *", "`0` is not a day of the month"),
        ("* * * 13 *", "1 to 12 or JAN to DEC"),
        ("* * * * 8", "`8` is not a weekday"),
        ("* * * * FUN", "`FUN` is not a weekday"),
        ("*/0 * * * *", "not a step"),
        ("*/x * * * *", "not a step"),
        ("10-5 * * * *", "runs backwards"),
        ("L * * * *", "`L` is not a minute"),
        ("* * * * MON#6", "1 to 5"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("@daily", "this has 1"),
        (", * * * *", "An empty part is not a minute"),
    ],
)
def test_a_cron_expression_that_says_nothing_is_explained(expression: str, said: str) -> None:
    assert said in (cron_flaw(expression) or "")


@given(st.text(max_size=30))
def test_any_text_is_a_cron_expression_or_is_explained(text: str) -> None:
    assert cron_flaw(text) is None or cron_flaw(text)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("300s", 300),
        ("5m", 300),
        ("1h30m", 5400),
        ("PT5M", 300),
        ("P1DT1S", 86401),
        (30, 30),
        (1.5, 1.5),
        ("30", 30),
    ],
)
def test_a_duration_is_written_in_four_ways(value: Json, seconds: float) -> None:
    assert parse_duration(value).total_seconds() == seconds


@pytest.mark.parametrize(
    "value", ["", "soon", "5 parsecs", "-5s", -1, True, None, "P1Y", [], "9" * 40, 1e300]
)
def test_what_is_no_duration_is_refused(value: Json) -> None:
    with pytest.raises(ValueError, match="is not"):
        parse_duration(value)


@pytest.mark.parametrize("topic", ["a", "orders.placed", "A_b-c.9", "x" * 249])
def test_a_topic_may_be_called_that(topic: str) -> None:
    assert topic_flaw(topic) is None


@pytest.mark.parametrize("topic", ["", ".", "..", "a b", "ä", "a/b", "x" * 250])
def test_a_topic_may_not_be_called_that(topic: str) -> None:
    assert topic_flaw(topic)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Student Onboarding", "student-onboarding"),
        ("  Über / Größe!  ", "uber-groe"),
        ("訂單", "workflow"),
        ("x" * 500, "x" * 190),
    ],
)
def test_a_name_becomes_a_key(name: str, key: str) -> None:
    assert slug(name) == key


def test_a_key_that_is_taken_is_numbered() -> None:
    assert numbered("a", frozenset()) == "a"
    assert numbered("a", frozenset({"a", "a-2", "a-4"})) == "a-3"


def codes(problems: tuple[object, ...]) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in problems]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "block",
    [
        {
            "scheduleType": "CRON",
            "cronExpression": "0 9 * * MON-FRI",
            "timezone": "Asia/Kolkata",
            "startDate": "2024-01-01T00:00:00",
            "endDate": "2024-12-31T23:59:59",
        },
        {"scheduleType": "INTERVAL", "intervalMinutes": 60, "startDate": "2024-01-01T00:00:00"},
        {"scheduleType": "MONTHLY", "dayOfMonth": 1, "timezone": "Asia/Kolkata"},
        {"type": "cron", "expression": "0 0 9 * * *", "misfire": "fire_all", "overlap": "queue"},
    ],
)
def test_a_schedule_is_taken(block: Json) -> None:
    assert check_schedule(block) == ()


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ([], [("WRONG_TYPE", "")]),
        ({}, [("MISSING_FIELD", "")]),
        ({"type": "YEARLY"}, [("NOT_ALLOWED", "/type")]),
        ({"scheduleType": "YEARLY"}, [("NOT_ALLOWED", "/scheduleType")]),
        ({"type": "CRON"}, [("MISSING_FIELD", "")]),
        ({"type": "CRON", "expression": "* *"}, [("INVALID_CRON", "/expression")]),
        ({"type": "INTERVAL", "intervalMinutes": 0}, [("OUT_OF_RANGE", "/intervalMinutes")]),
        ({"type": "INTERVAL", "intervalMinutes": 5, "dayOfMonth": 1}, [("UNKNOWN_FIELD", "/dayOfMonth")]),
        (
            {"type": "INTERVAL", "expression": "0 9 * * *"},
            [("MISSING_FIELD", ""), ("UNKNOWN_FIELD", "/expression")],
        ),
        ({"type": "MONTHLY", "dayOfMonth": 32}, [("OUT_OF_RANGE", "/dayOfMonth")]),
        ({"type": "MONTHLY", "dayOfMonth": 1, "time": "9 am"}, [("INVALID_TIME", "/time")]),
        ({"type": "MONTHLY", "dayOfMonth": 1, "timezone": "IST+5"}, [("INVALID_TIMEZONE", "/timezone")]),
        ({"type": "MONTHLY", "dayOfMonth": 1, "startDate": "January"}, [("INVALID_TIME", "/startDate")]),
        (
            {
                "type": "MONTHLY",
                "dayOfMonth": 1,
                "startDate": "2024-02-01",
                "endDate": "2024-01-01T00:00:00Z",
            },
            [("OUT_OF_RANGE", "/endDate")],
        ),
        (
            {"type": "CRON", "expression": "0 9 * * *", "cronExpression": "0 8 * * *"},
            [("GIVEN_TWICE", "/cronExpression")],
        ),
    ],
)
def test_a_schedule_that_cannot_run_is_explained(block: Json, expected: list[tuple[str, str]]) -> None:
    assert codes(check_schedule(block)) == expected


@pytest.mark.parametrize(
    "setting",
    [
        {
            "strategy": "CONTEXT_TIME_WINDOW",
            "ttlMinutes": 15,
            "contextFields": ["userId", "packageId"],
            "includeTriggerId": True,
            "includeEventType": False,
            "includeEventId": False,
            "customExpression": None,
            "failOnMissingContext": False,
        },
        {"strategy": "NONE"},
        {"strategy": "UUID"},
        {"strategy": "TIME_WINDOW", "ttlMinutes": 15},
        {"strategy": "CONTEXT_BASED", "contextFields": ["userId"]},
        {"strategy": "CONTEXT_TIME_WINDOW", "contextFields": ["userId"], "ttlMinutes": 60},
        {"strategy": "EVENT_BASED", "includeEventType": True, "includeEventId": True},
        {
            "strategy": "CUSTOM_EXPRESSION",
            "customExpression": "#{triggerId}_#{ctx['roleId']}_#{ctx['organizationId']}",
        },
    ],
)
def test_an_idempotency_setting_is_taken(setting: Json) -> None:
    assert check_idempotency(setting) == ()


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({}, [("MISSING_FIELD", "")]),
        ({"strategy": "SOMETIMES"}, [("NOT_ALLOWED", "/strategy")]),
        ({"strategy": "TIME_WINDOW"}, [("MISSING_FIELD", "")]),
        ({"strategy": "TIME_WINDOW", "ttlMinutes": 0}, [("OUT_OF_RANGE", "/ttlMinutes")]),
        ({"strategy": "CONTEXT_BASED", "contextFields": []}, [("MISSING_FIELD", "")]),
        ({"strategy": "CONTEXT_TIME_WINDOW"}, [("MISSING_FIELD", ""), ("MISSING_FIELD", "")]),
        (
            {"strategy": "CUSTOM_EXPRESSION", "customExpression": "#{"},
            [("INVALID_EXPRESSION", "/customExpression")],
        ),
        (
            {"strategy": "CUSTOM_EXPRESSION", "customExpression": "#a +"},
            [("INVALID_EXPRESSION", "/customExpression")],
        ),
        (
            {"strategy": "CONTEXT_BASED", "contextFields": ["userId", "a..["]},
            [("INVALID_PATH", "/contextFields/1")],
        ),
        (
            {"strategy": "EVENT_BASED", "includeEventType": False, "includeEventId": False},
            [("MISSING_FIELD", "")],
        ),
        ({"strategy": "NONE", "ttl": 5}, [("UNKNOWN_FIELD", "/ttl")]),
    ],
)
def test_an_idempotency_setting_that_cannot_work_is_explained(
    setting: Json, expected: list[tuple[str, str]]
) -> None:
    assert codes(check_idempotency(setting)) == expected


@pytest.mark.parametrize(
    "block",
    [
        {
            "triggerEventName": "LEARNER_BATCH_ENROLLMENT",
            "idempotencyGenerationSetting": {
                "strategy": "CONTEXT_BASED",
                "contextFields": ["userId", "sessionId"],
                "failOnMissingContext": True,
            },
        },
        {
            "triggerEventName": "SEND_LEARNER_CREDENTIALS",
            "idempotencyGenerationSetting": {
                "strategy": "CONTEXT_TIME_WINDOW",
                "contextFields": ["userId"],
                "ttlMinutes": 1440,
            },
        },
        {
            "triggerEventName": "SUB_ORG_MEMBER_ENROLLMENT",
            "idempotencyGenerationSetting": {"strategy": "TIME_WINDOW", "ttlMinutes": 5},
        },
    ],
)
def test_a_trigger_block_is_taken(block: Json) -> None:
    assert check_trigger(block) == ()


def test_what_is_wrong_inside_a_trigger_block_is_found_there() -> None:
    block: JsonObject = {"topic": "a b", "idempotencyGenerationSetting": {"strategy": "TIME_WINDOW"}}
    assert codes(check_trigger(block, "/trigger")) == [("INVALID_TOPIC", "/trigger/topic")]
    del block["topic"]
    assert codes(check_trigger(block, "/trigger")) == [
        ("MISSING_FIELD", "/trigger/idempotencyGenerationSetting")
    ]
