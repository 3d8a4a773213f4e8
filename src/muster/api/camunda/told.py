"""Tasks and errors as Camunda's clients are told of them."""

from collections.abc import Collection
from typing import Any

import orjson
from fastapi import Response
from pydantic import Field, JsonValue

from muster.api.camunda.values import moment, typed
from muster.api.problems import MEDIA_TYPE
from muster.api.shapes import Shape
from muster.model.external_task import ExternalTask
from muster.model.json import JsonObject

PREFIX = "/engine-rest/"
# What Camunda calls a code that nobody has given a number.
NO_NUMBER = 0


class CamundaTask(Shape):
    """An external task. `processInstanceId` is the execution, `activityId` the node, `processDefinitionId`
    the version, `tenantId` the institute. `variables` are there when it was fetched."""

    id: str
    topic_name: str
    worker_id: str | None
    lock_expiration_time: str | None
    create_time: str
    retries: int | None
    priority: int
    suspended: bool
    error_message: str | None
    error_details: str | None
    activity_id: str
    activity_instance_id: str
    execution_id: str
    process_instance_id: str
    process_definition_id: str
    process_definition_key: str
    process_definition_version_tag: str | None
    tenant_id: str | None
    business_key: str | None
    extension_properties: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, JsonValue] | None = None


class CamundaCount(Shape):
    count: int


class CamundaError(Shape):
    """What went wrong, in Camunda's words and in ours (RFC 9457)."""

    type: str = Field(examples=["RestException"])
    message: str
    code: int = Field(description="Camunda's number for it: none of ours has one.")
    title: str
    status: int
    detail: str
    reason: str = Field(description="Stable: branch on this.", examples=["NOT_FOUND"])
    request_id: str


def task_told(task: ExternalTask) -> JsonObject:
    ended = task.lock_until if task.worker_id else None
    return {
        "id": task.id,
        "topicName": task.topic,
        "workerId": task.worker_id,
        "lockExpirationTime": None if ended is None else moment(ended),
        "createTime": moment(task.created_at),
        "retries": task.retries,
        "priority": task.priority,
        "suspended": False,
        "errorMessage": task.error_message,
        "errorDetails": task.error_details,
        "activityId": task.node_id,
        "activityInstanceId": f"{task.node_id}:{task.visit}",
        "executionId": task.execution_id,
        "processInstanceId": task.execution_id,
        "processDefinitionId": str(task.version_id),
        "processDefinitionKey": task.workflow_key,
        "processDefinitionVersionTag": None,
        "tenantId": task.institute_id or None,
        "businessKey": task.business_key,
        "extensionProperties": {},
    }


def fetched_told(task: ExternalTask, wanted: Collection[str] | None) -> JsonObject:
    """The same with its variables: all, or those that are wanted."""
    given = task.variables
    names = given if wanted is None else [name for name in given if name in wanted]
    return {**task_told(task), "variables": {name: typed(given[name]) for name in names}}


def error_told(response: Response) -> Response:
    """A refusal as Camunda's clients read it. What is wrong with a body is a bad request there."""
    problem: dict[str, Any] = orjson.loads(response.body)
    status = 400 if response.status_code == 422 else response.status_code
    kind = "InvalidRequestException" if status == 400 and problem.get("errors") else "RestException"
    told = {
        **problem,
        "type": kind,
        "message": problem["detail"],
        "code": NO_NUMBER,
        "status": status,
        "reason": problem["code"],
    }
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return Response(orjson.dumps(told), status, headers, MEDIA_TYPE)
