"""Whoever acts for one institute gets at nothing of another's, by whatever operation of the document.

A further operation is covered by being in it."""

import json
import sqlite3
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from furnished import Things, example_of, furnished
from polling import PATIENCE
from servers import Heard, Server

MARK = "acmesmarkofitsown"
# Their ids name nothing of anybody's: a type of node; topics and streams are everybody's, and so are refused.
SHARED = {("get", "/api/workflow/node-types/{type}"): 200}
# It does not end, and so is read by a test of its own.
ENDLESS = {"/api/stream"}
# Fields of examples that name what a field of another name may name instead.
INSTEAD = {"key", "eventName", "filter"}
# Rows that instances write of themselves, and when a token was used.
THEIR_OWN = {"instance", "bus_member", "bus_position", "consumer_position", "outbox_stream", "api_token"}
WATCHES = {"watch_horizon", "watch_presence", "watch_sequence", "sqlite_sequence"}
NOOP = {"id": "n", "type": "NOOP"}
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


@dataclass(frozen=True)
class Two:
    """Acme has one of everything; whoever calls as `globex` knows all of its ids."""

    server: Server
    document: Mapping[str, Any]
    things: Things
    acme: httpx.Client
    globex: httpx.Client

    @property
    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if path not in ENDLESS:
                    yield method, path, operation

    def rows(self) -> dict[str, dict[int, str]]:
        """All that is kept, as far as acme could see of it: by table and row."""
        with sqlite3.connect(f"file:{self.server.folder}/muster.db?mode=ro", uri=True) as database:
            names = {name for (name,) in database.execute(TABLES)}
            return {
                name: {row[0]: repr(row) for row in database.execute(f'SELECT rowid, * FROM "{name}"')}
                for name in names - THEIR_OWN - WATCHES
            }


def changed(before: Mapping[str, Mapping[int, str]], after: Mapping[str, Mapping[int, str]]) -> list[str]:
    """Rows that are other or gone, or new and acme's."""
    found = [
        f"{table}: {row} became {after[table].get(id)}"
        for table, rows in before.items()
        for id, row in rows.items()
        if after[table].get(id) != row
    ]
    return found + [
        f"{table}: new {row}"
        for table, rows in after.items()
        for id, row in rows.items()
        if id not in before[table] and "'acme'" in row
    ]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    server = Server(tmp_path_factory.mktemp("tenants"))
    server.settings = {
        "MUSTER_API_RATE_LIMIT": "0",
        "MUSTER_SECRET_KEY": b64encode(bytes(32)).decode(),
        "MUSTER_WHATSAPP_VERIFY_TOKEN": "verify",
        "MUSTER_WHATSAPP_APP_SECRET": "secret",
    }
    server.start()
    base = f"http://127.0.0.1:{server.port}"
    headers = {}
    for name in ("acme", "globex"):
        made = server.call(
            "POST", "/api/tokens", {"name": name, "roles": ["admin", "producer"], "instituteId": name}
        )
        headers[name] = {"Authorization": f"Bearer {made[1]['token']}"}  # type: ignore[index]  # an object
    things = furnished(base, headers["acme"], MARK, "acme")
    options: dict[str, Any] = {"base_url": base, "timeout": PATIENCE, "trust_env": False}
    document = httpx.get(f"{base}/openapi.json", timeout=PATIENCE, trust_env=False).json()
    with (
        httpx.Client(headers=headers["acme"], **options) as acme,
        httpx.Client(headers=headers["globex"], **options) as globex,
    ):
        yield Two(server, document, things, acme, globex)
    server.clean_up()


def test_by_no_id_of_another_tenants_is_anything_seen_or_done(two: Two) -> None:
    wrong: list[str] = []
    before = two.rows()
    for method, path, operation in two.operations:
        if "{" not in path:
            continue
        address, body = about(two, path, operation)
        answer = two.globex.request(method, address, json=body)
        expected = {SHARED.get((method, path), 404), 403, 401}
        if answer.status_code not in expected or MARK in answer.text:
            wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        wrong += [f"{method} {path}: {each}" for each in changed(before, two.rows())]
    assert wrong == []


def about(two: Two, path: str, operation: Mapping[str, Any]) -> tuple[str, Any]:
    """A request's address and body: what is in both is the same."""
    ids, body = two.things.of(path), example_of(operation)
    if isinstance(body, dict):
        body |= {name: ids[name] for name in ids if name in body}
    return path.format(**ids), body


def test_by_no_parameter_and_no_field_that_names_something_of_another_tenants_either(two: Two) -> None:
    wrong: list[str] = []
    before = two.rows()
    for method, path, operation in two.operations:
        for query, body in attempts(two, operation) if "{" not in path else ():
            answer = two.globex.request(method, path, params=query, json=body)
            if answer.status_code >= 500 or MARK in answer.text:
                wrong.append(f"{method} {path} {query} {body}: {answer.status_code} {answer.text[:300]}")
        wrong += [f"{method} {path}: {each}" for each in changed(before, two.rows())]
    assert wrong == []


def attempts(two: Two, operation: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The example as it is, and with each parameter and each field that could name something of acme's."""
    theirs, example = names(two.things), example_of(operation)
    yield {}, example
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query" and parameter["name"] in theirs:
            yield {parameter["name"]: theirs[parameter["name"]], **needed(operation)}, example
    for field in fields(two.document, operation):
        if field in theirs and isinstance(example, dict):
            others = {
                name: value for name, value in example.items() if name not in ("key", "eventName", "filter")
            }
            yield {}, {**example, field: theirs[field]}
            yield {}, {**others, field: theirs[field]}


def names(things: Things) -> dict[str, Any]:
    """Acme's things by the names that fields and parameters have for them."""
    workflow = things.of("/api/workflow/{id}")["id"]
    execution = things.of("/api/workflow/executions/{id}")["id"]
    task = things.of("/api/external-tasks/{id}")["id"]
    watched = things.of("/workflows/{key}")["key"]
    return {
        **dict.fromkeys(("instituteId", "tenantIdIn"), "acme"),
        **dict.fromkeys(("workflowId", "processDefinitionId"), workflow),
        **dict.fromkeys(("key", "processDefinitionKey"), "acme-plain"),
        **dict.fromkeys(("workflow", "workflowKey"), watched),
        **dict.fromkeys(("execution", "executionId", "execution_id", "processInstanceId"), execution),
        **dict.fromkeys(("externalTaskId", "externalTaskIdIn"), task),
        "ids": [execution],
        "filter": {"workflow": workflow},
        "wait": things.of("/api/waits/{id}")["id"],
        **dict.fromkeys(("trigger", "triggerId"), things.of("/api/workflow/triggers/{id}")["id"]),
        "correlationKey": things.of("/items/{correlationKey}")["correlationKey"],
        "dataSource": things.of("/api/data-sources/{key}")["key"],
        "passwordSecret": things.of("/api/secrets/{name}")["name"],
        "q": MARK[:8],
        "entityType": "workflow",
        "entityId": workflow,
        "incident": 1,
    }


def needed(operation: Mapping[str, Any]) -> dict[str, Any]:
    """The other parameters that it cannot do without."""
    given = {"entityType": "workflow", "entityId": "x", "key": "x", "trigger": "x"}
    parameters = operation.get("parameters", ())
    return {
        each["name"]: given[each["name"]]
        for each in parameters
        if each.get("required") and each["in"] == "query" and each["name"] in given
    }


def fields(document: Mapping[str, Any], operation: Mapping[str, Any]) -> set[str]:
    """The names of the fields that a body may have."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schemas, found = [content.get("schema", {})], set[str]()
    while schemas:
        schema = schemas.pop()
        if "$ref" in schema:
            schemas.append(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        schemas += schema.get("anyOf", []) + schema.get("oneOf", [])
        found |= set(schema.get("properties", {}))
    return found


def test_a_stream_tells_of_what_is_ones_own_and_of_nothing_of_another_tenants(two: Two) -> None:
    """Of what changes while it is read, and, to whoever says where they were, of what changed before."""
    path = "/api/stream?topics=executions,wallboard"
    streams = {
        name: iter(two.server.follow(path, headers={"Authorization": client.headers["Authorization"]}))
        for name, client in (("acme", two.acme), ("globex", two.globex))
    }
    made = two.globex.post("/api/workflow", json={"workflow": {"key": "own", "name": "own", "nodes": [NOOP]}})
    assert made.status_code == 201, made.text
    first = ended(two.globex, {"key": "own"})
    begun, _ = until_told(streams["globex"], first)
    theirs = ended(two.acme, {"key": "acme-plain", "context": {"said": MARK}})
    until_told(streams["acme"], theirs)
    # What is told is told in its order: when one's own has come, so would what was before it.
    own = ended(two.globex, {"key": "own"})
    last, heard = until_told(streams["globex"], own)
    assert theirs not in heard
    assert MARK not in heard
    again = {"Authorization": two.globex.headers["Authorization"]}
    for place in (begun, last):
        _, heard = until_told(iter(two.server.follow(path, place, again)), own)
        assert theirs not in heard
        assert MARK not in heard
    mine = {"Authorization": two.acme.headers["Authorization"]}
    _, heard = until_told(iter(two.server.follow(path, begun, mine)), theirs)
    assert own not in heard


def ended(client: httpx.Client, body: Mapping[str, Any]) -> str:
    """An execution that has come to its end."""
    answer = client.post("/api/workflow/execute?wait=60", json=body).json()
    assert answer["status"] == "COMPLETED", answer
    return str(answer["executionId"])


def until_told(stream: Iterator[Heard], execution: str) -> tuple[str, str]:
    """The place in the stream where it tells of this one, and all that it told until then."""
    told = []
    for heard in stream:
        told.append(json.dumps(heard.data))
        if execution in told[-1]:
            return heard.id, "\n".join(told)
    raise AssertionError("the stream has ended")


def test_their_owner_gets_at_each_of_them(two: Two) -> None:
    """Else nothing would be shown by what the other does not get at."""
    seen = []
    for method, path, _ in two.operations:
        if method == "get" and "{" in path and not path.endswith("/events"):
            answer = two.acme.get(path.format(**two.things.of(path)))
            assert answer.status_code in (200, 204), (path, answer.text)
            seen.append(MARK in answer.text)
    assert seen.count(True) > len(seen) / 2, json.dumps(seen)
