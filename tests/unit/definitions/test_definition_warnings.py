"""What runs, but probably not as meant, is warned about."""

import pytest

from muster.model.json import Json, JsonObject
from unit.definitions.catalogue_for_tests import checked, loaded, one_node, warnings


def noop(id: str, *targets: str, **more: Json) -> JsonObject:
    return {
        "id": id,
        "type": "NOOP",
        "routing": [{"type": "goto", "targetNodeId": target} for target in targets],
        **more,
    }


def flow(*nodes: Json) -> JsonObject:
    return {"name": "Test", "nodes": list(nodes)}


def test_a_node_that_nothing_leads_to_never_runs() -> None:
    document = flow(noop("a", "b", isStartNode=True), noop("b"), noop("lost"), noop("after", "lost"))
    assert warnings(document) == [("UNREACHABLE_NODE", "/nodes/2"), ("UNREACHABLE_NODE", "/nodes/3")]


def test_nothing_follows_an_end_node() -> None:
    document = flow(noop("a", "b", isEndNode=True), noop("b"))
    assert warnings(document) == [("UNREACHABLE_NODE", "/nodes/1")]


def test_an_error_route_leads_somewhere_too() -> None:
    document = flow(noop("a", "b", onError={"goto": "rescue"}), noop("b"), noop("rescue"))
    assert warnings(document) == []


@pytest.mark.parametrize(
    "free",
    [{"type": "delay", "config": {"duration": 1}}, {"type": "wait_events"}, {"maxVisits": 3}],
)
def test_a_loop_needs_a_wait_a_delay_or_a_limit(free: JsonObject) -> None:
    start = noop("start", "a")
    assert ("ENDLESS_LOOP", "/nodes/1") in warnings(flow(start, noop("a", "b"), noop("b", "a")))
    assert warnings(flow(start, noop("a", "b"), {**noop("b", "a"), **free})) == []


def test_a_wait_in_one_loop_does_not_excuse_another() -> None:
    document = flow(
        noop("start", "a"),
        noop("a", "b", "pause"),
        noop("b", "a"),
        {**noop("pause", "a"), "type": "wait_events"},
    )
    assert ("ENDLESS_LOOP", "/nodes/1") in warnings(document)


def test_a_node_that_leads_to_itself_is_a_loop() -> None:
    assert ("ENDLESS_LOOP", "/nodes/1") in warnings(flow(noop("start", "a"), noop("a", "a")))


def test_without_a_clear_start_the_first_starts_and_that_is_said() -> None:
    several = flow(noop("a", "c"), noop("b", "c"), noop("c"))
    assert [node.id for node in loaded(several).nodes if node.is_start] == ["a"]
    assert warnings(several) == [("UNCLEAR_START", "/nodes/0"), ("UNREACHABLE_NODE", "/nodes/1")]
    none = flow(noop("a", "b", maxVisits=2), noop("b", "a"))
    assert [node.id for node in loaded(none).nodes if node.is_start] == ["a"]
    assert warnings(none) == [("UNCLEAR_START", "/nodes/0")]


def switch(**more: Json) -> JsonObject:
    route: JsonObject = {
        "type": "switch",
        "expression": "#{_trigger.kind}",
        "cases": [{"value": "A", "targetNodeId": "b"}],
        **more,
    }
    return flow({**noop("a"), "routing": [route]}, noop("b"))


def test_a_switch_without_a_default_loses_what_fits_no_case() -> None:
    assert warnings(switch()) == [("SWITCH_WITHOUT_DEFAULT", "/nodes/0/routing/0")]
    assert warnings(switch(defaultNodeId="b")) == []


def test_a_case_that_is_there_twice_is_taken_once() -> None:
    cases: Json = [{"value": "1", "targetNodeId": "b"}, {"value": 1, "targetNodeId": "b"}]
    assert warnings(switch(cases=cases, defaultNodeId="b")) == [
        ("DUPLICATE_CASE", "/nodes/0/routing/0/cases/1/targetNodeId")
    ]


def query(id: str, key: str, *targets: str) -> JsonObject:
    return {**noop(id, *targets), "type": "QUERY", "config": {"prebuiltKey": key}}


def log(id: str, message: str, *targets: str) -> JsonObject:
    return {**noop(id, *targets), "type": "LOG", "config": {"message": message}}


def test_a_variable_that_no_earlier_node_sets_is_doubted() -> None:
    document = flow(
        log("early", "#{newStudents.size()}", "fetch"),
        query("fetch", "getNewStudents", "late"),
        log("late", "#{newStudents.size()}"),
    )
    assert warnings(document) == [("UNSET_VARIABLE", "/nodes/0/config/message")]


def test_what_a_loop_sets_is_there_the_second_time_round() -> None:
    document = flow(
        noop("start", "head"),
        log("head", "#{newStudents}", "fetch"),
        {**query("fetch", "getNewStudents", "head"), "maxVisits": 3},
    )
    assert warnings(document) == []


def test_one_of_two_branches_may_have_set_it() -> None:
    document = flow(
        noop("start", "left", "right"),
        query("left", "getNewStudents", "join"),
        noop("right", "join"),
        log("join", "#{newStudents}"),
    )
    assert warnings(document) == []


def test_a_condition_sees_what_its_own_node_set() -> None:
    route: JsonObject = {"type": "conditional", "condition": "newStudents.size() > other", "trueNodeId": "b"}
    document = flow({**query("a", "getNewStudents"), "routing": [route]}, noop("b"))
    found = checked(document).warnings
    assert [(problem.code, problem.pointer) for problem in found] == [
        ("UNSET_VARIABLE", "/nodes/0/routing/0/condition")
    ]
    assert "`other`" in found[0].message


@pytest.mark.parametrize(
    "name",
    ["item.x", "index", "_trigger.x", "_vars.x", "_execution.id", "workflowId", "instituteId", "_error"],
)
def test_what_is_always_there_is_never_doubted(name: str) -> None:
    assert warnings(one_node({"message": f"#{{{name}}}"}, "LOG")) == []


def test_after_a_node_whose_result_nobody_knows_nothing_is_doubted() -> None:
    task: JsonObject = {**noop("task", "late"), "type": "EXTERNAL_TASK", "config": {"topic": "t"}}
    assert warnings(flow(task, log("late", "#{whatever}"))) == []


def waits(**config: Json) -> list[tuple[str, str]]:
    return warnings(one_node(config, "wait_events"))


API: JsonObject = {"url": "https://example.org"}
KAFKA: JsonObject = {"topic": "t"}
IGNORED = [("IGNORED_ON_TIMEOUT", "/nodes/0/config/onTimeout")]


def test_on_timeout_means_nothing_where_the_strategy_leaves_it_no_choice() -> None:
    assert waits(onTimeout="continue") == IGNORED
    assert waits(apiCall=API, kafkaEvent=KAFKA, onTimeout="continue") == IGNORED
    optional = {**KAFKA, "required": False}
    assert waits(apiCall=API, kafkaEvent=optional, onTimeout="continue") == []
    custom: JsonObject = {"aggregationStrategy": "custom", "requiredEvents": ["kafka_event"]}
    assert waits(kafkaEvent=KAFKA, onTimeout="continue", **custom) == IGNORED
    assert waits(kafkaEvent=KAFKA, onTimeout="continue_with_partial", **custom) == []


def test_required_only_ignores_the_timeout_of_an_optional_event() -> None:
    optional: JsonObject = {**KAFKA, "required": False, "timeout": 5}
    found = waits(apiCall=API, kafkaEvent=optional, aggregationStrategy="required_only")
    assert found == [("IGNORED_TIMEOUT", "/nodes/0/config/kafkaEvent/timeout")]


def test_a_wait_should_outlast_its_own_call() -> None:
    short = [("WAIT_SHORTER_THAN_CALL", "/nodes/0/config")]
    assert waits(apiCall=API, timeout=30) == short
    assert waits(apiCall=API, timeout="31s") == []
    assert waits(apiCall={**API, "requestTimeout": "5m"}) == short
    assert waits(apiCall={**API, "requestTimeout": "1s", "timeout": 1}) == short
    assert waits(kafkaEvent=KAFKA, timeout=1) == []


def test_an_open_trigger_is_pointed_out() -> None:
    found = warnings(one_node({"triggerType": "webhook", "authentication": "NONE"}, "TRIGGER"))
    assert found == [("OPEN_TRIGGER", "/nodes/0/config/authentication")]


def test_a_unit_beside_a_duration_that_says_its_own_is_ignored() -> None:
    assert warnings(one_node({"duration": "5m", "unit": "hours"}, "delay")) == [
        ("IGNORED_FIELD", "/nodes/0/config/unit")
    ]


def test_mail_to_nobody_is_pointed_out() -> None:
    assert warnings(one_node({"subject": "x"}, "SEND_EMAIL")) == [("MISSING_FIELD", "/nodes/0/config")]


def test_what_is_wrong_in_one_place_hides_no_warning_about_another() -> None:
    broken: JsonObject = {"type": "LOG", "config": {}}
    unset = {"name": "w", "nodes": [{"type": "LOG", "config": {"message": "#{a}"}}, broken]}
    assert warnings(unset) == [("UNSET_VARIABLE", "/nodes/0/config/message")]
    looped = flow(noop("start", "a"), noop("a", "a"), noop("lost", "lost"), {**broken, "id": "b"})
    assert {("ENDLESS_LOOP", "/nodes/1"), ("UNREACHABLE_NODE", "/nodes/2")} <= set(warnings(looped))
    assert checked(unset).errors
    assert checked(looped).errors


@pytest.mark.parametrize(
    "wrong",
    [
        {"routing": [{"targetNodeId": "nowhere"}]},
        {"routing": "b"},
        {"routng": [{"targetNodeId": "b"}]},
        {"onError": {"gotoo": "b"}},
        {"id": " a"},
    ],
)
def test_where_the_ways_cannot_be_told_nothing_is_said_of_them(wrong: JsonObject) -> None:
    document = flow({**noop("a"), "isStartNode": True, **wrong}, noop("b", "c"), noop("c"))
    assert checked(document).errors
    assert not {"UNREACHABLE_NODE", "ENDLESS_LOOP", "UNSET_VARIABLE"} & {
        code for code, _ in warnings(document)
    }


def test_a_node_of_no_known_type_may_be_what_holds_a_loop_up() -> None:
    document = flow(noop("start", "a"), {**noop("a", "a"), "type": "PAUSE"})
    assert warnings(document) == []


def test_what_a_node_that_is_wrong_sets_is_not_known() -> None:
    document = flow({"type": "QUERY", "config": {}}, {"type": "LOG", "config": {"message": "#{a}"}})
    assert warnings(document) == []


def test_the_same_way_twice_is_pointed_out() -> None:
    assert warnings(flow(noop("a", "b", "b"), noop("b"))) == [
        ("DUPLICATE_EDGE", "/nodes/0/routing/1/targetNodeId")
    ]
    one_each: JsonObject = {"condition": "#{_trigger.x}", "trueNodeId": "b", "falseNodeId": "b"}
    assert warnings(flow({**noop("a"), "routing": [one_each]}, noop("b"))) == []


def test_a_calls_answer_has_no_longer_than_the_whole_wait() -> None:
    call: JsonObject = {"url": "https://api.example.com", "timeout": 600}
    late = [("WAIT_SHORTER_THAN_CALL", "/nodes/0/config/apiCall/timeout")]
    assert waits(apiCall=call, timeout=300) == late
    assert waits(apiCall=call) == late
    assert waits(apiCall=call, timeout=600) == []


def test_what_has_no_effect_outside_needs_no_dedupe() -> None:
    dedupe = {"key": "#{orderId}"}
    document = flow(noop("a", "b", dedupe=dedupe), {"id": "b", "type": "SEND_EMAIL", "dedupe": dedupe})
    assert ("IGNORED_FIELD", "/nodes/0/dedupe") in warnings(document)
    assert ("IGNORED_FIELD", "/nodes/1/dedupe") not in warnings(document)
