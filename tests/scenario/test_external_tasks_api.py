"""External tasks over HTTP: Camunda's protocol for workers, lists for people."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from api_for_tests import Client
from muster.app.build import House
from scenario.test_executions_api import until

REST = "/engine-rest/external-task"
TOPIC = {"topicName": "charge", "lockDuration": 60_000}
CHARGE = {
    "id": "charge",
    "type": "EXTERNAL_TASK",
    "config": {
        "topic": "charge",
        "variables": {"amount": "#{amount}", "card": {"no": 1}, "name": "Ada"},
        "priority": 4,
    },
}


async def offered(client: Client, key: str = "pay", **node: Any) -> str:
    document = {"workflow": {"key": key, "name": key, "nodes": [{**CHARGE, **node}]}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    body = {"key": key, "context": {"amount": 12}}
    execution: str = (await client.post("/api/workflow/execute", json=body)).json()["executionId"]
    await until(client, execution, "WAITING")
    return execution


async def fetched(client: Client, worker: str = "ada", **more: Any) -> list[dict[str, Any]]:
    body = {"workerId": worker, "maxTasks": 10, "topics": [TOPIC], **more}
    answer = await client.post(f"{REST}/fetchAndLock", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json"), answer.text
    tasks: list[dict[str, Any]] = answer.json()
    return tasks


async def test_a_worker_fetches_and_completes(client: Client) -> None:
    execution = await offered(client)
    [wait] = (await client.get(f"/api/workflow/executions/{execution}")).json()["waits"]
    [task] = await fetched(client)
    assert (wait["kind"], wait["id"]) == ("task", task["id"])
    assert (task["processInstanceId"], task["activityId"]) == (execution, "charge")
    assert (task["topicName"], task["workerId"], task["priority"], task["retries"]) == ("charge", "ada", 4, 3)
    assert task["variables"]["amount"] == {"type": "Integer", "value": 12, "valueInfo": {}}
    assert task["variables"]["card"] == {"type": "Json", "value": '{"no":1}', "valueInfo": {}}
    assert task["lockExpirationTime"].endswith("+0000")
    assert await fetched(client, "bob") == []
    done = {"workerId": "ada", "variables": {"paid": {"value": True, "type": "Boolean"}}, "extra": 1}
    answer = await client.post(f"{REST}/{task['id']}/complete", json=done)
    assert (answer.status_code, answer.content) == (204, b"")
    ended = await until(client, execution, "COMPLETED")
    assert ended["context"]["paid"] is True
    again = await client.post(f"{REST}/{task['id']}/complete", json=done)
    assert again.status_code == 404
    assert again.json()["type"] == "RestException"
    assert again.json()["message"] == f"External task with id {task['id']} does not exist."


async def test_another_workers_answer_is_refused_as_camunda_does(client: Client) -> None:
    await offered(client)
    [task] = await fetched(client)
    refused = await client.post(f"{REST}/{task['id']}/complete", json={"workerId": "bob"})
    told = refused.json()
    assert (refused.status_code, told["type"], told["code"]) == (400, "RestException", 0)
    assert "cannot be completed by worker 'bob'. It is locked by worker 'ada'." in told["message"]


async def test_bad_requests_say_where_and_what(client: Client) -> None:
    await offered(client)
    [task] = await fetched(client)
    wrong = {"workerId": "ada", "variables": {"n": {"value": "x", "type": "Integer"}}}
    answer = await client.post(f"{REST}/{task['id']}/complete", json=wrong)
    told = answer.json()
    assert (answer.status_code, told["type"]) == (400, "InvalidRequestException")
    assert told["errors"][0]["pointer"] == "/variables/n/value"
    nobody = await client.post(f"{REST}/fetchAndLock", json={"maxTasks": 1, "topics": []})
    assert (nobody.status_code, nobody.json()["errors"][0]["pointer"]) == (400, "/workerId")
    late = {"workerId": "ada", "maxTasks": 1, "asyncResponseTimeout": 1_800_001}
    assert (await client.post(f"{REST}/fetchAndLock", json=late)).status_code == 400
    assert (await client.post(f"{REST}/fetchAndLock", content=b"{")).json()["message"]
    assert await fetched(client, topics=None) == []


async def test_only_wanted_variables_come(client: Client) -> None:
    await offered(client)
    [task] = await fetched(client, topics=[{**TOPIC, "variables": ["name", "none"]}])
    assert list(task["variables"]) == ["name"]


async def test_topics_are_filtered_as_clients_ask(client: Client) -> None:
    execution = await offered(client)

    async def count(**wanted: Any) -> int:
        tasks = await fetched(client, topics=[{**TOPIC, **wanted}])
        for task in tasks:
            assert (await client.post(f"{REST}/{task['id']}/unlock")).status_code == 204
        return len(tasks)

    [task] = (await client.get(REST)).json()
    assert task["processInstanceId"] == execution
    assert await count(processVariables={"amount": 12}) == 1
    assert await count(processVariables={"amount": 13}) == 0
    assert await count(processDefinitionKey="pay", processDefinitionId=task["processDefinitionId"]) == 1
    assert await count(processDefinitionKeyIn=["other"]) == await count(processDefinitionIdIn=["x"]) == 0
    assert await count(withoutTenantId=True) == 1
    assert await count(tenantIdIn=["X"]) == await count(businessKey="x") == 0


async def test_a_failure_is_tried_again_and_then_fails_the_execution(client: Client) -> None:
    execution = await offered(client)
    [task] = await fetched(client)
    failed = {"workerId": "ada", "errorMessage": "no line", "errorDetails": "trace", "retries": 1}
    assert (await client.post(f"{REST}/{task['id']}/failure", json=failed)).status_code == 204
    assert (await client.get(f"{REST}/{task['id']}/errorDetails")).text == "trace"
    [again] = await fetched(client, "bob")
    assert (again["retries"], again["errorMessage"]) == (1, "no line")
    over = {**failed, "workerId": "bob", "retries": 0}
    assert (await client.post(f"{REST}/{task['id']}/failure", json=over)).status_code == 204
    ended = await until(client, execution, "FAILED")
    assert ended["error"] == {"type": "ExternalTaskFailed", "message": "no line", "nodeId": "charge"}
    letters = (await client.get("/api/dead-letters")).json()["items"]
    assert [letter["errorType"] for letter in letters] == ["ExternalTaskFailed"]


async def test_a_business_error_has_a_code_and_variables(client: Client) -> None:
    execution = await offered(client, onError="continue")
    [task] = await fetched(client)
    error = {
        "workerId": "ada",
        "errorCode": "POOR",
        "errorMessage": "no money",
        "variables": {"left": {"value": 3}},
    }
    assert (await client.post(f"{REST}/{task['id']}/bpmnError", json=error)).status_code == 204
    ended = await until(client, execution, "COMPLETED")
    assert ended["context"]["_error"] == {
        "node": "charge",
        "type": "POOR",
        "message": "no money",
        "details": {"left": 3},
    }


async def test_locks_retries_and_priorities_are_set(client: Client) -> None:
    await offered(client)
    [task] = await fetched(client)
    path = f"{REST}/{task['id']}"
    longer = {"workerId": "ada", "newDuration": 3_600_000}
    assert (await client.post(f"{path}/extendLock", json=longer)).status_code == 204
    assert (await client.get(path)).json()["lockExpirationTime"] > task["lockExpirationTime"]
    locked = {"workerId": "bob", "lockDuration": 1000}
    assert (await client.post(f"{path}/lock", json=locked)).status_code == 400
    assert (await client.post(f"{path}/unlock")).status_code == 204
    assert (await client.get(path)).json()["workerId"] is None
    assert (await client.put(f"{path}/retries", json={"retries": 9})).status_code == 204
    assert (await client.put(f"{path}/priority", json={"priority": -1})).status_code == 204
    read = (await client.get(path)).json()
    assert (read["retries"], read["priority"]) == (9, -1)


async def test_who_waits_for_tasks_is_told_when_there_are_some(client: Client) -> None:
    waiting = asyncio.create_task(fetched(client, asyncResponseTimeout=600_000))
    execution = await offered(client)
    [task] = await waiting
    assert task["processInstanceId"] == execution


async def test_who_waits_is_sent_away_when_the_house_retires(client: Client, house: House) -> None:
    waiting = asyncio.create_task(fetched(client, asyncResponseTimeout=600_000))
    await asyncio.sleep(0)
    house.retire()
    assert await waiting == []
    assert await fetched(client, asyncResponseTimeout=600_000) == []


async def test_tools_list_and_count_what_is_open(client: Client) -> None:
    await offered(client)
    [task] = await fetched(client)

    async def ids(**query: Any) -> list[str]:
        listed = (await client.get(REST, params={**query, "unknown": "x"})).json()
        counted = (await client.get(f"{REST}/count", params=query)).json()
        assert counted == {"count": len(listed)}
        return [each["id"] for each in listed]

    mine = [task["id"]]
    assert await ids() == await ids(locked=True) == await ids(workerId="ada") == mine
    assert await ids(topicName="charge", withRetriesLeft=True, activityId="charge") == mine
    assert await ids(externalTaskIdIn=f"x,{task['id']}", priorityHigherThanOrEquals=4) == mine
    assert await ids(lockExpirationAfter="2020-01-01T00:00:00.000+0200") == mine
    assert await ids(notLocked=True) == await ids(noRetriesLeft=True) == await ids(tenantIdIn="X") == []
    assert (await client.get(REST, params={"sortBy": "taskPriority", "maxResults": 0})).json() == []
    assert (await client.get(REST, params={"sortBy": "colour"})).status_code == 400
    assert (await client.get(f"{REST}/topic-names")).json() == ["charge"]
    assert (await client.get(f"{REST}/none")).status_code == 404


async def test_people_list_tasks_of_every_kind(client: Client) -> None:
    execution = await offered(client)
    [task] = await fetched(client)
    await client.post(f"{REST}/{task['id']}/complete", json={"workerId": "ada"})
    await until(client, execution, "COMPLETED")
    [item] = (await client.get("/api/external-tasks", params={"execution": execution})).json()["items"]
    assert (item["status"], item["workerId"], item["topic"]) == ("COMPLETED", "ada", "charge")
    assert (await client.get("/api/external-tasks", params={"status": "OPEN"})).json()["items"] == []
    assert (await client.get(f"/api/external-tasks/{task['id']}")).json() == item
    assert (await client.get("/api/external-tasks/none")).status_code == 404
    assert (await client.get("/api/external-tasks?colour=red")).status_code == 400


async def test_workers_need_to_be_producers_and_may_use_basic_authentication(
    client: Client, holding: Callable[..., Any]
) -> None:
    await offered(client)
    viewer, producer = await holding("viewer"), await holding("producer")
    refused = await viewer.post(f"{REST}/fetchAndLock", json={"workerId": "v", "maxTasks": 1})
    assert (refused.status_code, refused.json()["reason"]) == (403, "FORBIDDEN")
    assert refused.json()["message"]
    assert len((await viewer.get(REST)).json()) == 1
    assert (await producer.put(f"{REST}/x/retries", json={"retries": 1})).status_code == 403
    token = producer.headers["authorization"].removeprefix("Bearer ")
    pair = b64encode(f"worker:{token}".encode()).decode()
    answer = await client.post(
        f"{REST}/fetchAndLock",
        json={"workerId": "v", "maxTasks": 1, "topics": [TOPIC]},
        headers={"Authorization": f"Basic {pair}"},
    )
    assert len(answer.json()) == 1
    wrong = b64encode(b"worker:nothing").decode()
    for header in (f"Basic {wrong}", "Basic !", "Basic"):
        answer = await client.get(REST, headers={"Authorization": header})
        assert (answer.status_code, answer.json()["type"]) == (401, "RestException")


async def test_a_tenants_worker_gets_its_own_tasks_alone(client: Client, holding: Callable[..., Any]) -> None:
    await offered(client)
    theirs = await holding("producer", "viewer", institute="ACME")
    assert await fetched(theirs) == []
    [task] = await fetched(client)
    assert (await theirs.get(f"{REST}/{task['id']}")).status_code == 404
    answer = await theirs.post(f"{REST}/{task['id']}/complete", json={"workerId": "ada"})
    assert answer.status_code == 404
    assert (await theirs.get("/api/external-tasks")).json()["items"] == []


async def test_a_worker_that_has_left_gets_nothing(client: Client, house: House) -> None:
    body = json.dumps({"workerId": "gone", "maxTasks": 1, "topics": [TOPIC], "asyncResponseTimeout": 600_000})
    leaving, sent = asyncio.Event(), list[Any]()
    arrived = iter([{"type": "http.request", "body": body.encode(), "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in arrived:
            return message
        await leaving.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": f"{REST}/fetchAndLock", "query_string": b""}
    asked = asyncio.ensure_future(house.api({**scope, "headers": headers, "state": {}}, receive, send))
    leaving.set()
    await asked
    await offered(client)
    [task] = await fetched(client, "ada")
    assert task["workerId"] == "ada"
