"""One of everything that the API shows, made over it, and which of them each path is about."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from polling import PATIENCE, poll

CALLBACK = "/api/internal/callbacks/external-service"
# More than is shown in its place: such values have an address of their own.
LARGE = 70_000


@dataclass
class Things:
    """Ids by the beginning of the paths that they belong into: the longest that fits counts."""

    ids: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, path: str) -> dict[str, Any]:
        """What a path's parameters are to be, as the document writes it. A path that nobody knows is a
        mistake: whoever adds one says here what it is about."""
        fitting = [prefix for prefix in self.ids if path.startswith(prefix)]
        assert fitting, f"tests/furnished.py makes nothing that {path} is about"
        return self.ids[max(fitting, key=len)]


class Furnisher:
    """Makes things as one caller, with `mark` wherever people write something."""

    def __init__(self, client: httpx.Client, mark: str, prefix: str) -> None:
        self._client, self._mark, self._prefix = client, mark, prefix
        self.things = Things()

    def make(self) -> Things:
        self._definitions()
        self._executions()
        self._failed()
        self._registered()
        self._watched()
        return self.things

    def _post(self, path: str, body: object, status: int = 201) -> Any:
        answer = self._client.post(path, json=body)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()

    def _first(self, path: str, fits: Callable[[Any], bool] = bool) -> Any:
        def look() -> Any:
            answer = self._client.get(path)
            assert answer.status_code == 200, (path, answer.text)
            return next((item for item in answer.json()["items"] if fits(item)), None)

        return poll(look)

    def _workflow(self, name: str, *nodes: Mapping[str, Any]) -> str:
        key = f"{self._prefix}-{name}"
        body = {"workflow": {"key": key, "name": f"{name} {self._mark}", "nodes": list(nodes)}}
        return str(self._post("/api/workflow", body)["id"])

    def _definitions(self) -> None:
        ids, prefix, mark = self.things.ids, self._prefix, self._mark
        workflow = self._workflow("plain", {"id": "log", "type": "LOG", "config": {"message": mark}})
        self.workflow = workflow
        ids["/api/workflow/{id}"] = {"id": workflow, "number": 1}
        ids["/api/workflow/visualize/{id}"] = {"id": workflow}
        trigger = self._post(
            "/api/workflow/triggers",
            {"workflowId": workflow, "type": "webhook", "path": f"{prefix}/hook", "authentication": "HMAC"},
        )
        ids["/api/workflow/triggers/{id}"] = {"id": trigger["id"]}
        ids["/api/workflow/trigger/{path}"] = {"path": f"{prefix}/hook"}
        yearly = {"scheduleType": "CRON", "cronExpression": "0 9 1 1 *", "timezone": "UTC"}
        schedule = self._post("/api/workflow/schedule", {"workflowId": workflow, **yearly})
        ids["/api/workflow/schedule/{id}"] = {"id": schedule["id"]}
        template = {
            "id": f"{prefix}-template",
            "name": mark,
            "nodeType": "LOG",
            "configJson": {"message": mark},
        }
        self._post("/api/workflow/node-templates", template)
        ids["/api/workflow/node-templates/{id}"] = {"id": f"{prefix}-template"}
        # These are everybody's.
        ids["/api/workflow/node-types/{type}"] = {"type": "LOG"}
        ids["/api/messages/{topic}"] = {"topic": f"{prefix}-topic"}
        ids["/api/outbox/streams/{stream}/renew"] = {"stream": "executions"}

    def _executions(self) -> None:
        ids, mark = self.things.ids, self._mark
        asked = {"command": {"type": "DO", "payload": {"what": mark}}, "timeout": "1h"}
        asked |= {"commandTopic": f"{self._prefix}-commands", "replyTopic": f"{self._prefix}-replies"}
        waiting = self._workflow(
            "waiting",
            {
                "id": "begin",
                "type": "NOOP",
                "config": {},
                "routing": [
                    {"type": "goto", "targetNodeId": name} for name in ("ask", "work", "events", "command")
                ],
            },
            {"id": "ask", "type": "APPROVAL", "config": {"title": mark}},
            {"id": "work", "type": "EXTERNAL_TASK", "config": {"topic": "work", "variables": {"m": mark}}},
            {
                "id": "events",
                "type": "wait_events",
                "config": {"events": [{"name": "paid", "source": "callback"}]},
            },
            {
                "id": "command",
                "type": "KAFKA_COMMAND",
                "config": asked,
            },
        )
        body = {"workflowId": waiting, "context": {"said": mark, "large": mark * (LARGE // len(mark))}}
        execution = self._post("/api/workflow/execute", body, 202)["executionId"]
        self.execution = execution
        ids["/api/workflow/executions/{id}"] = {"id": execution, "sha256": self._large(execution)}
        by = f"?execution={execution}"
        ids["/api/approvals/{id}"] = {"id": self._first(f"/api/approvals{by}")["id"]}
        task = self._first(f"/api/external-tasks{by}")["id"]
        ids["/api/external-tasks/{id}"] = ids["/engine-rest/external-task/{id}"] = {"id": task}
        ids["/api/commands/{id}"] = {"id": self._first(f"/api/commands{by}")["id"]}
        wait = self._first(f"/api/waits{by}", lambda each: bool(each["enabledEvents"]))
        ids["/api/waits/{id}"] = {"id": wait["id"]}
        missed = {"execution_id": "another", "correlation_id": wait["correlationId"], "said": mark}
        self._post(CALLBACK, missed, 200)
        ids["/api/near-misses/{id}"] = {"id": self._first(f"/api/near-misses?wait={wait['id']}")["id"]}

    def _large(self, execution: str) -> str:
        shown = self._client.get(f"/api/workflow/executions/{execution}").json()
        return str(shown["context"]["large"]["$large"]["sha256"])

    def _failed(self) -> None:
        ids, mark = self.things.ids, self._mark
        failing = self._workflow("failing", {"id": "fail", "type": "LOG", "config": {"message": "#{1 / 0}"}})
        context = {"said": mark}
        self._post("/api/workflow/execute", {"workflowId": failing, "context": context}, 202)
        letter = self._first("/api/dead-letters", lambda each: each["kind"] == "execution")
        ids["/api/dead-letters/{id}"] = {"id": letter["id"]}
        asked = {"action": "cancel", "filter": {"workflow": failing}, "reason": mark}
        job = self._post("/api/workflow/executions/bulk", asked, 202)
        ids["/api/workflow/executions/bulk/{id}"] = {"id": job["jobId"]}
        dismissed = {"action": "dismiss", "filter": {"status": "redriven"}, "reason": mark}
        job = self._post("/api/dead-letters/bulk", dismissed, 202)
        ids["/api/dead-letters/bulk/{id}"] = {"id": job["jobId"]}

    def _registered(self) -> None:
        ids, prefix, mark = self.things.ids, self._prefix, self._mark
        token = self._post("/api/tokens", {"name": mark, "roles": ["viewer"]})
        ids["/api/tokens/{id}"] = {"id": token["id"]}
        self._post("/api/secrets", {"name": f"{prefix}_secret", "value": mark})
        ids["/api/secrets/{name}"] = {"name": f"{prefix}_secret"}
        url = f"postgresql://{mark}@db.example/shop"
        self._post("/api/data-sources", {"key": f"{prefix}-source", "url": url})
        ids["/api/data-sources/{key}"] = {"key": f"{prefix}-source"}
        for kind, sql in (("queries", "SELECT id FROM t"), ("actions", "UPDATE t SET x = 1")):
            body = {"key": f"{prefix}_{kind}", "dataSource": f"{prefix}-source"}
            self._post(f"/api/{kind}", {**body, "sql": f"{sql} /*{mark}*/"})
            ids[f"/api/{kind}/{{key}}"] = {"key": f"{prefix}_{kind}"}

    def _watched(self) -> None:
        ids, prefix, mark = self.things.ids, self._prefix, self._mark
        key, item = f"{prefix}-watched", f"{prefix}-item"
        nodes = [
            {"key": "in", "eventType": f"{prefix}-IN", "start": True},
            {"key": "out", "eventType": f"{prefix}-OUT"},
        ]
        graph = {"nodes": nodes, "edges": [{"from": "in", "to": "out", "maxLatencySec": 1}]}
        made = self._post("/workflows", {"name": mark, "key": key, "createdBy": "ops", "graph": graph})
        ids["/workflows/{key}"] = {"key": key}
        ids["/workflows/{versionId}"] = {"versionId": made["versionId"]}
        # Long ago: what should have followed is missing.
        event = {"eventId": f"{prefix}-1", "sourceSystem": "s", "eventType": f"{prefix}-IN"}
        when = {"eventTime": "2026-01-01T00:00:00Z", "workflowKey": key, "correlationKey": item}
        self._post("/ingest", {**event, **when, "payload": {"said": mark}}, 202)
        ids["/items/{correlationKey}"] = {"correlationKey": item}
        ids["/alerts/{id}"] = {"id": self._first("/alerts")["id"]}
        # From then on nothing happens by itself.
        self._first("/api/incidents", lambda each: each["notifiedAt"] is not None)


def furnished(base: str, headers: Mapping[str, str], mark: str, prefix: str) -> Things:
    with httpx.Client(base_url=base, headers=dict(headers), timeout=PATIENCE, trust_env=False) as client:
        return Furnisher(client, mark, prefix).make()


def example_of(operation: Mapping[str, Any]) -> Any:
    """The body that the document shows for an operation; None: it takes none in JSON."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return json.loads(json.dumps(content.get("example")))
