"""Every shape that a definition may be written in loads into the one model, and comes back the same."""

import json

import pytest

from export_steps import EXPORT_STEPS
from muster.definitions.check import check
from muster.definitions.document import checksum, from_document, to_document
from muster.definitions.text import read
from muster.model.json import Json, JsonObject
from muster.model.workflow import Edge, EdgeType, Schedule, WorkflowStatus, WorkflowType
from unit.definitions.catalogue_for_tests import CATALOGUE, checked, loaded, warnings

FULL: JsonObject = {
    "workflow": {
        "id": "wf_123",
        "name": "Student Onboarding",
        "description": "Automated student onboarding process",
        "status": "ACTIVE",
        "workflowType": "SCHEDULED",
        "instituteId": "inst_456",
        "createdByUserId": "user_789",
    },
    "schedule": {
        "workflowId": "wf_123",
        "scheduleType": "CRON",
        "cronExpression": "0 9 * * MON-FRI",
        "timezone": "Asia/Kolkata",
        "status": "ACTIVE",
    },
    "nodes": [
        {
            "id": "node_1",
            "nodeTemplateId": "template_query",
            "nodeOrder": 1,
            "isStartNode": True,
            "overrideConfig": '{"prebuiltKey": "getNewStudents"}',
        },
        {
            "id": "node_2",
            "nodeTemplateId": "template_email",
            "nodeOrder": 2,
            "overrideConfig": '{"on": "#{newStudents}", "forEach": {"eval": "#{item}", '
            '"subject": "Welcome #{item.name}"}}',
        },
        {
            "id": "node_3",
            "nodeTemplateId": "template_action",
            "nodeOrder": 3,
            "isEndNode": True,
            "overrideConfig": '{"actionType": "updateStudentStatus", "on": "#{newStudents}"}',
        },
    ],
    "routing": [
        {"fromNodeId": "node_1", "toNodeId": "node_2", "type": "goto"},
        {"fromNodeId": "node_2", "toNodeId": "node_3", "type": "goto"},
    ],
}
ENROLLMENT: JsonObject = {
    "workflow": {
        "name": "Student Enrollment Workflow",
        "nodes": [
            {"type": "QUERY", "config": {"prebuiltKey": "getNewEnrollments"}},
            {
                "type": "SEND_EMAIL",
                "config": {
                    "on": "#{newEnrollments}",
                    "forEach": {
                        "eval": "#{item}",
                        "subject": "Welcome to #{item.courseName}",
                        "body": "Your enrollment is confirmed",
                    },
                },
            },
            {"type": "ACTION", "config": {"actionType": "updateEnrollmentStatus", "on": "#{newEnrollments}"}},
        ],
    }
}
RENEWAL: JsonObject = {
    "workflow": {
        "name": "Subscription Renewal Workflow",
        "schedule": {"type": "CRON", "expression": "0 9 * * MON-FRI"},
        "nodes": [
            {
                "type": "QUERY",
                "config": {"prebuiltKey": "getExpiringSubscriptions", "params": {"daysAhead": 7}},
            },
            {
                "type": "SEND_EMAIL",
                "config": {
                    "on": "#{expiringSubscriptions}",
                    "forEach": {
                        "operation": "SWITCH",
                        "on": "#{item.remainingDays}",
                        "cases": {
                            "1": {
                                "subject": "URGENT: Subscription expires tomorrow",
                                "body": "Your subscription expires in 1 day",
                            },
                            "7": {
                                "subject": "Subscription expires in 7 days",
                                "body": "Your subscription expires in 7 days",
                            },
                        },
                    },
                },
            },
        ],
    }
}
MULTI_CHANNEL: JsonObject = {
    "workflow": {
        "name": "Multi-Channel Notification",
        "nodes": [
            {"type": "QUERY", "config": {"prebuiltKey": "getUsersForNotification"}},
            {
                "type": "SEND_EMAIL",
                "config": {
                    "on": "#{users}",
                    "forEach": {
                        "eval": "#{item}",
                        "subject": "Important Update",
                        "body": "Please check your dashboard",
                    },
                },
            },
            {
                "type": "SEND_WHATSAPP",
                "config": {
                    "on": "#{users}",
                    "forEach": {
                        "eval": "#{item}",
                        "message": "Important update available in your dashboard",
                    },
                },
            },
        ],
    }
}
PER_NODE: JsonObject = {
    "name": "Routing",
    "nodes": [
        {
            "id": "count",
            "type": "NOOP",
            "routing": [
                {
                    "type": "conditional",
                    "condition": "#{userCount > 100}",
                    "trueNodeId": "bulk",
                    "falseNodeId": "individual",
                }
            ],
        },
        {
            "id": "bulk",
            "type": "NOOP",
            "routing": [
                {
                    "type": "switch",
                    "expression": "#{userType}",
                    "cases": [
                        {"value": "STUDENT", "targetNodeId": "student"},
                        {"value": "INSTRUCTOR", "targetNodeId": "instructor"},
                    ],
                    "defaultNodeId": "general",
                }
            ],
        },
        {
            "id": "individual",
            "type": "NOOP",
            "routing": [
                {"type": "goto", "targetNodeId": "student"},
                {"type": "goto", "targetNodeId": "general"},
            ],
        },
        {"id": "student", "type": "NOOP"},
        {"id": "instructor", "type": "NOOP"},
        {"id": "general", "type": "NOOP"},
    ],
}
NODE_DATA: JsonObject = {
    "name": "Waits",
    "nodes": [
        {
            "type": "wait_events",
            "data": {
                "apiCall": {
                    "enabled": True,
                    "url": "https://external-service.com/api/action",
                    "method": "POST",
                    "headers": {
                        "Authorization": "Bearer @{_vars.token}",
                        "Content-Type": "application/json",
                    },
                    "body": {
                        "action": "@{_trigger.action}",
                        "data": "@{_trigger.data}",
                        "execution_id": "@{_execution.id}",
                        "correlation_id": "@{_execution.correlationId}",
                    },
                    "correlationIdField": "correlation_id",
                    "correlationIdHeader": "X-Correlation-Id",
                    "timeout": 300,
                    "required": True,
                },
                "kafkaEvent": {
                    "enabled": True,
                    "topic": "external-service.events",
                    "correlationIdField": "correlation_id",
                    "executionIdField": "execution_id",
                    "filter": {"event_type": "action.completed"},
                    "timeout": 300,
                    "required": True,
                },
                "aggregationStrategy": "all",
                "requiredEvents": ["api_response", "kafka_event"],
                "timeout": 300,
                "onTimeout": "fail",
                "outputMapping": {"apiResponse": "api_response", "kafkaEvent": "kafka_event"},
            },
        }
    ],
}
SHAPES: dict[str, Json] = {
    "full": FULL,
    "short": ENROLLMENT,
    "short with a schedule": RENEWAL,
    "short, two channels": MULTI_CHANNEL,
    "per-node routing": PER_NODE,
    "node data": NODE_DATA,
    "steps": read(EXPORT_STEPS),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_loads_without_errors(shape: str) -> None:
    assert checked(SHAPES[shape]).errors == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_canonical_document_of_every_shape_is_the_same_definition_again(shape: str) -> None:
    definition = loaded(SHAPES[shape])
    document = to_document(definition)
    assert check(document, CATALOGUE).definition == definition
    assert from_document(document) == definition
    assert to_document(from_document(document)) == document
    assert json.loads(json.dumps(document)) == document


def test_the_full_shape_says_everything_about_the_workflow() -> None:
    definition = loaded(FULL)
    assert (definition.key, definition.name) == ("wf_123", "Student Onboarding")
    assert definition.workflow_type is WorkflowType.SCHEDULED
    assert definition.status is WorkflowStatus.ACTIVE
    assert (definition.institute_id, definition.created_by_user_id) == ("inst_456", "user_789")
    assert definition.schedules == (
        Schedule("CRON", cron_expression="0 9 * * MON-FRI", timezone="Asia/Kolkata"),
    )
    assert [node.type for node in definition.nodes] == ["QUERY", "SEND_EMAIL", "ACTION"]
    assert definition.nodes[0].is_start
    assert definition.nodes[2].is_end
    assert definition.edges == (Edge("node_1", "node_2"), Edge("node_2", "node_3"))


def test_a_templates_config_and_the_nodes_own_are_merged() -> None:
    mail = loaded(FULL).nodes[1]
    assert mail.template_id == "template_email"
    assert mail.config["forEach"] == {
        "eval": "#{item}",
        "subject": "Welcome #{item.name}",
        "body": "Dear #{item.name}",
    }
    assert mail.override_config == {
        "on": "#{newStudents}",
        "forEach": {"eval": "#{item}", "subject": "Welcome #{item.name}"},
    }


def test_the_short_shape_is_numbered_and_follows_the_list() -> None:
    definition = loaded(ENROLLMENT)
    assert [node.id for node in definition.nodes] == ["node_1", "node_2", "node_3"]
    assert definition.edges == (Edge("node_1", "node_2"), Edge("node_2", "node_3"))
    assert [node.is_start for node in definition.nodes] == [True, False, False]


def test_the_short_schedule_means_the_full_one() -> None:
    assert loaded(RENEWAL).schedules == (Schedule("CRON", cron_expression="0 9 * * MON-FRI"),)
    assert loaded(RENEWAL).workflow_type is WorkflowType.SCHEDULED


def test_the_workflows_that_run_on_the_demo_need_nothing_from_outside() -> None:
    for document in (FULL, ENROLLMENT, RENEWAL, MULTI_CHANNEL):
        assert warnings(document) == []


def test_routes_of_a_node_become_edges_of_their_own() -> None:
    edges = loaded(PER_NODE).edges
    condition = "#{userCount > 100}"
    assert edges[:2] == (
        Edge("count", "bulk", EdgeType.CONDITIONAL, condition=condition, value=True),
        Edge("count", "individual", EdgeType.CONDITIONAL, condition=condition, value=False),
    )
    assert edges[2:5] == (
        Edge("bulk", "student", EdgeType.SWITCH, expression="#{userType}", value="STUDENT"),
        Edge("bulk", "instructor", EdgeType.SWITCH, expression="#{userType}", value="INSTRUCTOR"),
        Edge("bulk", "general", EdgeType.SWITCH, expression="#{userType}", is_default=True),
    )
    assert edges[5:] == (Edge("individual", "student"), Edge("individual", "general"))


def test_steps_have_their_own_ids_and_need_no_name_to_be_checked() -> None:
    definition = loaded(SHAPES["steps"])
    assert definition.name is None
    assert definition.nodes[0].id == "trigger-batch-export"
    assert definition.nodes[0].config["timeout"] == "300s"


def test_a_document_may_do_without_the_wrapper() -> None:
    assert loaded({"name": "Bare", "nodes": [{"type": "NOOP"}]}).name == "Bare"


def test_name_and_description_may_stand_beside_the_wrapper() -> None:
    beside = loaded({"name": "Beside", "description": "d", "workflow": {"nodes": [{"type": "NOOP"}]}})
    assert (beside.name, beside.description) == ("Beside", "d")


@pytest.mark.parametrize("name", ["config", "configJson", "data", "overrideConfig"])
def test_a_config_has_four_names_and_may_be_json_text(name: str) -> None:
    for config in ({"message": "hi"}, '{"message": "hi"}'):
        document: JsonObject = {"nodes": [{"nodeType": "LOG", name: config}]}
        assert loaded(document).nodes[0].config == {"message": "hi"}


@pytest.mark.parametrize("spelling", ["WAIT_EVENTS", "wait_events", "Wait_Events"])
def test_a_node_type_is_found_in_any_case_and_kept_in_its_own(spelling: str) -> None:
    assert loaded({"nodes": [{"type": spelling}]}).nodes[0].type == "wait_events"


def test_given_ids_step_aside_for_chosen_ones() -> None:
    document: JsonObject = {"nodes": [{"id": "node_2", "type": "NOOP"}, {"type": "NOOP"}]}
    assert [node.id for node in loaded(document).nodes] == ["node_2", "node_2_2"]


def test_without_routing_the_order_decides_who_follows_whom() -> None:
    document: JsonObject = {
        "nodes": [
            {"id": "c", "type": "NOOP", "nodeOrder": 30},
            {"id": "a", "type": "NOOP", "nodeOrder": 10},
            {"id": "b", "type": "NOOP"},
        ]
    }
    definition = loaded(document)
    assert [node.id for node in definition.nodes] == ["a", "b", "c"]
    assert definition.edges == (Edge("a", "b"), Edge("b", "c"))


def test_with_routing_only_what_is_routed_follows() -> None:
    document: JsonObject = {
        "nodes": [{"id": "a", "type": "NOOP"}, {"id": "b", "type": "NOOP"}, {"id": "c", "type": "NOOP"}],
        "routing": [{"from": "b", "to": "c"}, {"from": "c", "to": "a"}],
    }
    definition = loaded(document)
    assert definition.edges == (Edge("b", "c"), Edge("c", "a"))
    assert [node.id for node in definition.nodes if node.is_start] == ["b"]


def test_where_an_error_goes_is_not_where_the_workflow_starts() -> None:
    document: JsonObject = {
        "nodes": [
            {"id": "handler", "type": "NOOP"},
            {
                "id": "risky",
                "type": "NOOP",
                "onError": {"goto": "handler"},
                "routing": [{"targetNodeId": "end"}],
            },
            {"id": "end", "type": "NOOP"},
        ]
    }
    assert [node.id for node in loaded(document).nodes if node.is_start] == ["risky"]
    assert warnings(document) == []


def test_a_schedule_may_be_several() -> None:
    document: JsonObject = {
        "nodes": [{"type": "NOOP"}],
        "schedules": [
            {"scheduleType": "INTERVAL", "intervalMinutes": 60, "startDate": "2024-01-01T00:00:00"},
            {"scheduleType": "MONTHLY", "dayOfMonth": 1, "timezone": "Asia/Kolkata", "time": "09:00"},
        ],
    }
    assert [schedule.schedule_type for schedule in loaded(document).schedules] == ["INTERVAL", "MONTHLY"]
    assert check(to_document(loaded(document)), CATALOGUE).definition == loaded(document)


def test_every_setting_of_nodes_edges_and_workflows_survives() -> None:
    document: JsonObject = {
        "workflow": {
            "key": "all.of-it_1",
            "name": "All of it",
            "output": {"total": "#{total}"},
            "durability": "cache",
            "concurrency": {"key": "#{userId}", "limit": 3},
            "search": ["orderId"],
            "vars": {"region": "eu"},
            "watch": True,
        },
        "nodes": [
            {
                "id": "a",
                "type": "REST_SYNC",
                "name": "Call",
                "config": {"url": "https://example.org"},
                "retry": {"maxAttempts": 3, "initialDelay": "1s", "multiplier": 2, "jitter": "full"},
                "timeout": "PT1M",
                "onError": {"goto": "b"},
                "compensate": {"type": "send_email", "config": {"body": "undo"}},
                "maxVisits": 5,
                "inDoubt": "ask",
                "dedupe": {"key": "#{orderId}", "ttl": "1d"},
                "itemKey": "#{item.id}",
                "notes": "Ask #{nobody before this is changed.",
            },
            {"id": "b", "type": "NOOP", "join": "any", "isEndNode": True},
        ],
        "routing": [
            {"from": "a", "to": "b", "maxLatencySec": 60, "absoluteDeadline": "08:00Z", "severity": "red"}
        ],
    }
    definition = loaded(document)
    assert definition.nodes[0].compensate == {"type": "SEND_EMAIL", "config": {"body": "undo"}}
    assert definition.nodes[0].notes == "Ask #{nobody before this is changed."
    assert definition.edges[0].max_latency_sec == 60
    assert from_document(to_document(definition)) == definition
    assert check(to_document(definition), CATALOGUE).definition == definition


def test_a_saved_node_keeps_its_config_when_its_template_changes() -> None:
    saved = to_document(loaded(FULL))
    elsewhere = type(CATALOGUE)(CATALOGUE.node_types, CATALOGUE.queries, CATALOGUE.actions, {})
    found = check(saved, elsewhere)
    assert found.definition == loaded(FULL)
    assert [problem.code for problem in found.problems] == ["TEMPLATE_CHANGED"] * 3


def test_the_checksum_follows_the_content_and_not_the_order_of_keys() -> None:
    assert checksum({"a": 1, "b": [1, 2]}) == checksum({"b": [1, 2], "a": 1})
    assert checksum({"a": 1}) != checksum({"a": 2})


def test_a_saved_schedule_is_read_back_whatever_would_be_said_of_it_today() -> None:
    saved = to_document(
        loaded({"nodes": [{"type": "NOOP"}], "schedule": {"type": "CRON", "expression": "0 9 * * *"}})
    )
    (block,) = saved["schedule"]
    block["timezone"] = "Europe/Atlantis"
    (schedule,) = from_document(saved).schedules
    assert (schedule.cron_expression, schedule.timezone) == ("0 9 * * *", "Europe/Atlantis")
