"""Configs as people write them are taken as they stand, each in a workflow of one node."""

import pytest

from muster.definitions.check import check
from muster.model.json import JsonObject
from muster.model.node_type import Catalogue
from muster.nodes import builtin, demo

CATALOGUE = Catalogue(builtin(), demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)

NODES: list[JsonObject] = [
    {
        "nodeType": "SEND_EMAIL",
        "configJson": {
            "on": "#{userList}",
            "forEach": {
                "operation": "SWITCH",
                "on": "#{item.userType}",
                "cases": {
                    "STUDENT": {
                        "subject": "Welcome Student #{item.name}",
                        "body": "Your course starts on #{item.startDate}",
                    },
                    "INSTRUCTOR": {
                        "subject": "New Assignment #{item.assignmentName}",
                        "body": "Please review the new assignment details",
                    },
                },
            },
        },
    },
    {
        "nodeType": "QUERY",
        "configJson": {
            "prebuiltKey": "getExpiringSubscriptions",
            "params": {"instituteId": "#{instituteId}", "daysAhead": 7, "status": "ACTIVE"},
        },
    },
    {
        "nodeType": "ACTION",
        "configJson": {
            "actionType": "dbUpdateRemainingDays",
            "on": "#{expiringSubscriptions}",
            "forEach": {"eval": "#{item}", "operation": "ITERATOR"},
        },
    },
    {
        "nodeType": "TRANSFORM",
        "configJson": {
            "transformations": [
                {"field": "fullName", "expression": "#{item.firstName + ' ' + item.lastName}"},
                {"field": "isExpiring", "expression": "#{item.remainingDays <= 7}"},
            ]
        },
    },
    {
        "nodeType": "TRIGGER",
        "configJson": {
            "triggerType": "webhook",
            "endpoint": "/api/workflow/trigger",
            "authentication": "HMAC",
        },
    },
    {
        "nodeType": "SEND_WHATSAPP",
        "configJson": {
            "on": "#{userList}",
            "forEach": {
                "eval": "#{item}",
                "message": "Hello #{item.name}, your subscription expires in #{item.remainingDays} days",
            },
        },
    },
    {
        "type": "DATA_PROCESSOR",
        "config": {
            "dataProcessorType": "ITERATOR",
            "config": {"on": "#{userList}", "forEach": {"eval": "#{item}", "operation": "ITERATOR"}},
        },
    },
    {
        "type": "DATA_PROCESSOR",
        "config": {
            "dataProcessorType": "SWITCH",
            "config": {
                "on": "#{item.status}",
                "cases": {"ACTIVE": {"action": "send_reminder"}, "EXPIRED": {"action": "send_renewal"}},
                "default": {"action": "send_general"},
            },
        },
    },
    {
        "type": "wait_events",
        "data": {
            "apiCall": {
                "enabled": True,
                "url": "https://api.example.com/process",
                "method": "POST",
                "required": True,
            },
            "kafkaEvent": {"enabled": True, "topic": "process.completed", "required": True},
            "aggregationStrategy": "all",
            "timeout": 300,
        },
    },
    {
        "type": "wait_events",
        "data": {
            "apiCall": {"enabled": True, "url": "https://api.example.com/process", "required": False},
            "kafkaEvent": {"enabled": True, "topic": "process.completed", "required": False},
            "aggregationStrategy": "any",
            "timeout": 300,
        },
    },
    {
        "type": "wait_events",
        "data": {
            "apiCall": {"enabled": True, "url": "https://api.example.com/process", "required": True},
            "kafkaEvent": {"enabled": False},
            "aggregationStrategy": "all",
            "timeout": 300,
        },
    },
    {
        "type": "wait_events",
        "data": {
            "apiCall": {"enabled": False},
            "kafkaEvent": {"enabled": True, "topic": "process.completed", "required": True},
            "aggregationStrategy": "all",
            "timeout": 300,
        },
    },
    {
        "type": "wait_events",
        "data": {
            "apiCall": {"enabled": True, "url": "https://api.example.com/process", "required": True},
            "kafkaEvent": {"enabled": True, "topic": "process.completed", "required": False},
            "aggregationStrategy": "custom",
            "requiredEvents": ["api_response"],
            "timeout": 300,
        },
    },
    {
        "type": "wait_events",
        "data": {
            "events": [
                {"name": "paid", "source": "kafka", "topic": "payments", "correlation": "#{orderId}"},
                {"name": "packed", "source": "callback"},
                {"name": "signed", "source": "webhook"},
            ],
            "aggregationStrategy": "custom",
            "completeWhen": "#{received.size() >= 2}",
        },
    },
    {"type": "delay", "data": {"duration": 2, "unit": "seconds"}},
    {"type": "DELAY", "data": {"until": "#{item.startDate}"}},
    {
        "type": "REST_SYNC",
        "config": {
            "url": "http://127.0.0.1:9/x",
            "method": "POST",
            "body": {"k": "#{k}"},
            "auth": {"type": "bearer", "token": "#{_vars.token}"},
            "expect": [200, 404],
        },
    },
    {
        "type": "APPROVAL",
        "config": {
            "assignees": "#{managers}",
            "form": {"type": "object", "properties": {"amount": {"type": "number"}}},
            "timeout": "PT48H",
        },
    },
    {"type": "SUB_WORKFLOW", "config": {"workflow": "child", "on": "#{orders}", "mode": "detach"}},
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: str(node.get("type") or node.get("nodeType")))
def test_a_node_is_taken_as_it_is_written(node: JsonObject) -> None:
    assert check({"name": "One node", "nodes": [node]}, CATALOGUE).errors == ()
