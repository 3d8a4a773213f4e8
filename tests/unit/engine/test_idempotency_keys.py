"""The keys of triggers' starts, letter for letter."""

import logging
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.engine.idempotency import BadExpression, Generated, Keyed, MissingField, key_for, value_text
from muster.model.json import Json, JsonObject
from muster.model.once import Once, once

AT = datetime(2026, 3, 4, 9, 7, 30, 123456, tzinfo=UTC)
NINE = int(datetime(2026, 3, 4, 9, tzinfo=UTC).timestamp()) * 1000
MIDNIGHT = int(datetime(2026, 3, 4, tzinfo=UTC).timestamp()) * 1000
CONTEXT: JsonObject = {"userId": 7, "packageId": "p-1", "user": {"name": "Ada", "tags": ["a", "b"]}}


def generated(setting: JsonObject | None, **event: object) -> Generated:
    given: dict[str, object] = {
        "trigger_id": "t1",
        "context": CONTEXT,
        "event_type": "ENROLLED",
        "event_id": "e-9",
        "at": AT,
        **event,
    }
    return key_for(setting, unique=lambda: "a-new-uuid", **given)


def key(strategy: str, setting: JsonObject | None = None, **event: object) -> str:
    found = generated({"strategy": strategy, **(setting or {})}, **event)
    assert isinstance(found, Keyed), found
    return found.key


@pytest.mark.parametrize("setting", [None, {}, {"strategy": "NONE"}])
def test_without_a_strategy_there_is_no_key(setting: JsonObject | None) -> None:
    assert generated(setting) is None


def test_a_uuid_is_new_every_time_and_nobody_elses() -> None:
    assert generated({"strategy": "UUID"}) == Keyed("a-new-uuid", None)
    assert Keyed("a-new-uuid", None).within("", "w") == Once("a-new-uuid", None)
    first, second = (key_for({"strategy": "UUID"}, "t1", {}, None, None, AT) for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("strategy", "setting", "expected"),
    [
        ("TIME_WINDOW", {"ttlMinutes": 15}, f"trigger_t1_{NINE}"),
        ("TIME_WINDOW", {"ttlMinutes": 1}, f"trigger_t1_{NINE + 7 * 60_000}"),
        ("TIME_WINDOW", {"ttlMinutes": 1440}, f"trigger_t1_{MIDNIGHT}"),
        ("TIME_WINDOW", {"ttlMinutes": 15, "includeTriggerId": False}, f"{NINE}"),
        (
            "TIME_WINDOW",
            {"ttlMinutes": 15, "includeEventType": True},
            f"trigger_t1_eventType_ENROLLED_{NINE}",
        ),
        ("TIME_WINDOW", {"ttlMinutes": 15, "includeEventId": True}, f"trigger_t1_eventId_e-9_{NINE}"),
        (
            "TIME_WINDOW",
            {"ttlMinutes": 15, "includeEventType": True, "includeEventId": True, "includeTriggerId": False},
            f"eventType_ENROLLED_eventId_e-9_{NINE}",
        ),
        ("CONTEXT_BASED", {"contextFields": ["userId"]}, "trigger_t1_userId_7"),
        (
            "CONTEXT_BASED",
            {"contextFields": ["userId", "packageId"]},
            "trigger_t1_userId_7_packageId_p-1",
        ),
        (
            "CONTEXT_BASED",
            {"contextFields": ["packageId", "userId"]},
            "trigger_t1_packageId_p-1_userId_7",
        ),
        ("CONTEXT_BASED", {"contextFields": ["userId"], "includeTriggerId": False}, "userId_7"),
        (
            "CONTEXT_BASED",
            {"contextFields": ["userId"], "includeEventType": True, "includeEventId": True},
            "trigger_t1_eventType_ENROLLED_eventId_e-9_userId_7",
        ),
        ("CONTEXT_BASED", {"contextFields": ["user.name"]}, "trigger_t1_user.name_Ada"),
        ("CONTEXT_BASED", {"contextFields": ["$.user.tags[1]"]}, "trigger_t1_$.user.tags[1]_b"),
        ("CONTEXT_BASED", {"contextFields": ["nobody"]}, "trigger_t1_nobody_null"),
        ("CONTEXT_BASED", {"contextFields": ["user.age", "userId"]}, "trigger_t1_user.age_null_userId_7"),
        # What a time window is for is ignored where there is none.
        ("CONTEXT_BASED", {"contextFields": ["userId"], "ttlMinutes": 15}, "trigger_t1_userId_7"),
        (
            "CONTEXT_TIME_WINDOW",
            {"contextFields": ["userId"], "ttlMinutes": 15},
            f"trigger_t1_userId_7_{NINE}",
        ),
        (
            "CONTEXT_TIME_WINDOW",
            {"contextFields": ["userId"], "ttlMinutes": 15, "includeEventId": True},
            f"trigger_t1_eventId_e-9_userId_7_{NINE}",
        ),
        (
            "CONTEXT_TIME_WINDOW",
            {"contextFields": ["userId"], "ttlMinutes": 15, "includeTriggerId": False},
            f"userId_7_{NINE}",
        ),
        ("EVENT_BASED", {}, "trigger_t1_eventType_ENROLLED_eventId_e-9"),
        (
            "EVENT_BASED",
            {"includeEventType": True, "includeEventId": True},
            "trigger_t1_eventType_ENROLLED_eventId_e-9",
        ),
        (
            "EVENT_BASED",
            {"includeEventType": None, "includeEventId": None, "includeTriggerId": None},
            "trigger_t1_eventType_ENROLLED_eventId_e-9",
        ),
        ("EVENT_BASED", {"includeEventType": False}, "trigger_t1_eventId_e-9"),
        ("EVENT_BASED", {"includeEventId": False}, "trigger_t1_eventType_ENROLLED"),
        ("EVENT_BASED", {"includeTriggerId": False}, "eventType_ENROLLED_eventId_e-9"),
        ("EVENT_BASED", {"contextFields": ["userId"]}, "trigger_t1_eventType_ENROLLED_eventId_e-9"),
        (
            "CUSTOM_EXPRESSION",
            {"customExpression": "#{triggerId}_#{ctx['userId']}_#{ctx['packageId']}"},
            "t1_7_p-1",
        ),
        ("CUSTOM_EXPRESSION", {"customExpression": "#{eventName}/#{eventId}"}, "ENROLLED/e-9"),
        ("CUSTOM_EXPRESSION", {"customExpression": "#triggerId + '-' + #ctx['userId']"}, "t1-7"),
        ("CUSTOM_EXPRESSION", {"customExpression": "#{user.name}"}, "Ada"),
        # These belong to the other strategies.
        (
            "CUSTOM_EXPRESSION",
            {"customExpression": "#{userId}", "includeEventId": True, "ttlMinutes": 5},
            "7",
        ),
        ("UUID", {"includeEventId": True}, "a-new-uuid"),
    ],
)
def test_a_key_is_written_so(strategy: str, setting: JsonObject, expected: str) -> None:
    assert key(strategy, setting) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a_b", "a_b"),
        ("Zoë 🎓 名", "Zoë 🎓 名"),
        ("", ""),
        ("null", "null"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-12, "-12"),
        (12345678901234567890, "12345678901234567890"),
        (2.5, "2.5"),
        (3.0, "3"),
        ([1, "a", None, True], '[1,"a",null,true]'),
        ({"b": 1, "a": {"y": [], "x": "é"}}, '{"a":{"x":"é","y":[]},"b":1}'),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_a_value_is_written_so(value: Json, text: str) -> None:
    assert key("CONTEXT_BASED", {"contextFields": ["x"]}, context={"x": value}) == f"trigger_t1_x_{text}"


def test_a_name_with_dots_is_a_name_before_it_is_a_path() -> None:
    context: JsonObject = {"user.id": 1, "user": {"id": 2}}
    assert key("CONTEXT_BASED", {"contextFields": ["user.id"]}, context=context) == "trigger_t1_user.id_1"


@pytest.mark.parametrize(
    ("moment", "start"),
    [
        (datetime(2026, 3, 4, 9, 0, tzinfo=UTC), datetime(2026, 3, 4, 9, 0, tzinfo=UTC)),
        (datetime(2026, 3, 4, 9, 7, tzinfo=UTC), datetime(2026, 3, 4, 9, 0, tzinfo=UTC)),
        (datetime(2026, 3, 4, 9, 14, 59, 999999, tzinfo=UTC), datetime(2026, 3, 4, 9, 0, tzinfo=UTC)),
        (datetime(2026, 3, 4, 9, 15, tzinfo=UTC), datetime(2026, 3, 4, 9, 15, tzinfo=UTC)),
        (datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
        (datetime(1969, 12, 31, 23, 59, tzinfo=UTC), datetime(1969, 12, 31, 23, 45, tzinfo=UTC)),
    ],
)
def test_a_window_begins_at_its_start_and_ends_before_the_next(moment: datetime, start: datetime) -> None:
    found = generated({"strategy": "TIME_WINDOW", "ttlMinutes": 15}, at=moment)
    assert isinstance(found, Keyed)
    assert found.key == f"trigger_t1_{int(start.timestamp() * 1000)}"
    assert found.expires_at == start + timedelta(minutes=15, days=1)


def test_a_window_is_the_same_in_every_zone() -> None:
    there = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    setting: JsonObject = {"ttlMinutes": 1440}
    assert key("TIME_WINDOW", setting, at=there) == key("TIME_WINDOW", setting) == f"trigger_t1_{MIDNIGHT}"


def test_windows_are_counted_from_the_epoch() -> None:
    """7 minutes do not divide an hour: the window of 9:07 is no multiple of the hour's."""
    start = int(key("TIME_WINDOW", {"ttlMinutes": 7, "includeTriggerId": False}))
    assert start % (7 * 60_000) == 0
    assert 0 <= AT.timestamp() * 1000 - start < 7 * 60_000


def test_a_window_past_the_end_of_the_calendar_is_kept_for_good() -> None:
    found = generated({"strategy": "TIME_WINDOW", "ttlMinutes": 10**12})
    assert found == Keyed("trigger_t1_0", ("trigger", "t1", "0"))


@pytest.mark.parametrize("strategy", ["CONTEXT_BASED", "EVENT_BASED"])
def test_a_key_without_a_time_is_kept_for_good(strategy: str) -> None:
    found = generated({"strategy": strategy, "contextFields": ["userId"]})
    assert isinstance(found, Keyed)
    assert found.expires_at is None


@pytest.mark.parametrize(
    ("setting", "event", "field"),
    [
        ({"strategy": "CONTEXT_BASED", "contextFields": ["userId", "user.age"]}, {}, "user.age"),
        ({"strategy": "CONTEXT_BASED", "contextFields": ["userId"]}, {"context": {"userId": None}}, "userId"),
        ({"strategy": "CONTEXT_TIME_WINDOW", "contextFields": ["x"], "ttlMinutes": 5}, {}, "x"),
        ({"strategy": "EVENT_BASED"}, {"event_id": None}, "eventId"),
        ({"strategy": "EVENT_BASED"}, {"event_type": None, "event_id": None}, "eventType"),
        ({"strategy": "TIME_WINDOW", "ttlMinutes": 5, "includeEventId": True}, {"event_id": None}, "eventId"),
    ],
)
def test_what_is_missing_is_named_where_it_must_not_be(
    setting: JsonObject, event: dict[str, object], field: str
) -> None:
    strict = {**setting, "failOnMissingContext": True}
    missing = generated(strict, **event)
    assert missing == MissingField(field)
    assert missing.message == f"`{field}` is missing, and is part of the idempotency key."
    loose = generated({**setting, "failOnMissingContext": False}, **event)
    assert isinstance(loose, Keyed)
    assert f"_{field}_null" in loose.key


@pytest.mark.parametrize(
    "expression", ["#{ctx['userId'] / 0}", "#{nothing.at.all()}", "#{ctx['nobody']}", "#ctx['nobody']", "#{"]
)
def test_an_expression_that_fails_gives_no_key_and_says_so(expression: str) -> None:
    found = generated({"strategy": "CUSTOM_EXPRESSION", "customExpression": expression})
    assert isinstance(found, BadExpression)
    assert found.message.startswith("The idempotency key's expression")


def test_an_expression_may_make_a_new_id_for_every_event() -> None:
    setting: JsonObject = {"strategy": "CUSTOM_EXPRESSION", "customExpression": "#{uuid()}"}
    assert key_for(setting, "t1", {}, None, None, AT) != key_for(setting, "t1", {}, None, None, AT)


@pytest.mark.parametrize(
    "setting",
    [
        5,
        [],
        "NONE",
        {"strategy": "SOMETIMES"},
        {"strategy": 5},
        {"strategy": "TIME_WINDOW"},
        {"strategy": "TIME_WINDOW", "ttlMinutes": 0},
        {"strategy": "TIME_WINDOW", "ttlMinutes": True},
        {"strategy": "CONTEXT_BASED"},
        {"strategy": "CONTEXT_BASED", "contextFields": ["a..["]},
        {"strategy": "CUSTOM_EXPRESSION"},
    ],
)
def test_a_stored_setting_that_cannot_be_used_warns_and_always_runs(
    setting: JsonObject, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert generated(setting) == Keyed("a-new-uuid", None)
    assert "trigger t1 has an idempotency setting that cannot be used" in caplog.text


def test_what_is_too_large_for_a_key_gives_none() -> None:
    setting: JsonObject = {"strategy": "CONTEXT_BASED", "contextFields": ["x"]}
    found = generated(setting, context={"x": ["y" * 1000] * 2000})
    assert isinstance(found, BadExpression)


@pytest.mark.parametrize("said", [True, False, None])
def test_whether_to_try_failed_ones_again_goes_with_the_key(said: bool | None) -> None:
    for strategy in ("CONTEXT_BASED", "EVENT_BASED", "CUSTOM_EXPRESSION"):
        more: JsonObject = {"contextFields": ["userId"], "customExpression": "x#{userId}"}
        found = generated({"strategy": strategy, **more, "retryFailed": said})
        assert isinstance(found, Keyed)
        assert found.retry_failed is bool(said)
        assert found.within("", "w").retry_failed is bool(said)


@pytest.mark.parametrize(
    ("setting", "context", "expected"),
    [
        (
            {
                "strategy": "CONTEXT_BASED",
                "contextFields": ["userId", "sessionId"],
                "failOnMissingContext": True,
            },
            {"userId": "u1", "sessionId": "s1"},
            "trigger_t1_userId_u1_sessionId_s1",
        ),
        (
            {"strategy": "CONTEXT_TIME_WINDOW", "contextFields": ["userId"], "ttlMinutes": 1440},
            {"userId": "u1"},
            f"trigger_t1_userId_u1_{MIDNIGHT}",
        ),
        (
            {"strategy": "TIME_WINDOW", "ttlMinutes": 5},
            {},
            f"trigger_t1_{NINE + 5 * 60_000}",
        ),
    ],
    ids=["one enrolment a user and session", "credentials once a day", "a batch in five minutes"],
)
def test_what_schools_use(setting: JsonObject, context: JsonObject, expected: str) -> None:
    found = generated(setting, context=context)
    assert isinstance(found, Keyed)
    assert found.key == expected
    assert found.within("school", "w").key == expected


# --- what makes two keys the same --------------------------------------------------------------------


def hashes(*parts: tuple[str, ...]) -> set[str | None]:
    return {once("", "w", each).hash for each in parts}


def test_keys_that_read_alike_are_different_ones() -> None:
    one = generated(
        {"strategy": "CONTEXT_BASED", "contextFields": ["a", "b"]}, context={"a": "1_b_2", "b": ""}
    )
    two = generated(
        {"strategy": "CONTEXT_BASED", "contextFields": ["a", "b"]}, context={"a": "1", "b": "2_b_"}
    )
    assert isinstance(one, Keyed)
    assert isinstance(two, Keyed)
    assert one.key == two.key == "trigger_t1_a_1_b_2_b_"
    assert one.within("", "w").hash != two.within("", "w").hash


def test_kinds_of_keys_are_told_apart() -> None:
    by_field = generated(
        {"strategy": "CONTEXT_BASED", "contextFields": ["a"], "includeTriggerId": False}, context={"a": "1"}
    )
    by_text = generated(
        {"strategy": "CUSTOM_EXPRESSION", "customExpression": "a_#{ctx.a}"}, context={"a": "1"}
    )
    assert isinstance(by_field, Keyed)
    assert isinstance(by_text, Keyed)
    assert by_field.key == by_text.key == "a_1"
    assert by_field.within("", "w").hash != by_text.within("", "w").hash


TEXTS = st.lists(st.text(alphabet='_a1",[]\\\x00\ud800é', max_size=4), max_size=4).map(tuple)


@given(TEXTS, TEXTS)
def test_different_parts_never_share_a_hash(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert (len(hashes(one, two)) == 1) == (one == two)


@given(TEXTS, st.text(max_size=3), st.text(max_size=3))
def test_tenant_and_workflow_are_no_parts(parts: tuple[str, ...], tenant: str, workflow: str) -> None:
    mine = once(tenant, workflow, parts)
    assert mine == once(tenant, workflow, parts)
    assert mine.hash not in {
        once(tenant, f"{workflow}_", parts).hash,
        once(f"{tenant}_", workflow, parts).hash,
    }
    assert mine.hash not in {once("", tenant + workflow, parts).hash} or not tenant


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_two_contexts_share_a_key_exactly_if_their_texts_are_equal(one: Json, two: Json) -> None:
    setting: JsonObject = {"strategy": "CONTEXT_BASED", "contextFields": ["a", "b"]}
    keys = []
    for first, second in ((one, two), (two, one)):
        found = generated(setting, context={"a": first, "b": second})
        assert isinstance(found, Keyed)
        keys.append(found.within("", "w").hash)
    assert (keys[0] == keys[1]) == (value_text(one) == value_text(two))
