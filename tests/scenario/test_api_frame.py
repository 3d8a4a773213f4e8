"""What every answer has, what the pages are, what health and metrics say, and what the document promises."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from api_for_tests import Client, Documented
from muster.api.problems import Code
from muster.app import watched_database
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.app.storage import CannotOpen
from muster.store.database import AsyncDatabase, CommitUnknown, ThreadedDatabase, Unavailable

WORKFLOW = {"workflow": {"name": "x", "nodes": [{"id": "a", "type": "NOOP"}]}}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@asynccontextmanager
async def built(folder: Path, **settings: object) -> AsyncIterator[httpx.AsyncClient]:
    whole = Settings.model_validate({"data-dir": folder, **settings})
    async with (
        opened(whole) as house,
        httpx.AsyncClient(transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1") as client,
    ):
        yield client


async def test_a_callers_ids_come_back_on_every_answer(client: Client) -> None:
    headers = {"X-Request-Id": "order-17", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    for path in ("/health/live", "/nope", "/docs"):
        answer = await client.get(path, headers=headers)
        assert (answer.headers["x-request-id"], answer.headers["x-trace-id"]) == ("order-17", TRACE)
    problem = (await client.get("/nope", headers=headers)).json()
    assert problem["requestId"] == "order-17"


async def test_every_answer_has_security_headers_and_pages_allow_no_script(client: Client) -> None:
    for path in ("/", "/docs", "/health/live", "/nope", "/api/workflow"):
        answer = await client.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in answer.headers


async def test_the_pages_load_nothing_from_elsewhere_and_lead_to_one_another(client: Client) -> None:
    for path in ("/", "/docs"):
        page = (await client.get(path)).text
        assert "<script" not in page
        assert "style=" not in page
        assert "https://" not in page
    assert 'href="/docs"' in (await client.get("/")).text
    assert (await client.get("/docs/muster.css")).headers["content-type"].startswith("text/css")


async def test_the_reference_shows_every_operation_and_every_problem_code(
    client: Client, documented: Documented
) -> None:
    page = (await client.get("/docs")).text
    for path, operations in documented.document["paths"].items():
        assert f">{path}<" in page
        assert all(operation["summary"] in page.replace("&#x27;", "'") for operation in operations.values())
    assert 'id="STALE_VERSION"' in page


def test_every_operation_documents_its_answers_and_its_body(documented: Documented) -> None:
    document = documented.document
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            name = f"{method} {path}"
            assert {"400", "500"} <= set(answers), name
            assert operation["security"] == [] or {"401", "403", "429"} <= set(answers), name
            if method in ("post", "put"):
                assert {"413", "415"} <= set(answers), name
                assert operation["requestBody"]["content"], name
            for status, answer in answers.items():
                if status >= "400" and "/health" not in path:
                    assert list(answer["content"]) == ["application/problem+json"], name


NOT_ABOUT_AN_OPERATION = {Code.METHOD_NOT_ALLOWED, Code.MALFORMED_REQUEST, Code.HEADERS_TOO_LARGE}


def test_every_problem_that_an_operation_may_answer_is_in_the_document(documented: Documented) -> None:
    said = "".join(
        answer["description"]
        for operations in documented.document["paths"].values()
        for operation in operations.values()
        for answer in operation["responses"].values()
    )
    assert {code for code in Code if f"`{code}`" not in said} == NOT_ABOUT_AN_OPERATION


def test_whatever_writes_may_not_know_whether_it_has(documented: Documented) -> None:
    writing = {
        f"{method} {path}": operation["responses"]["503"]["description"]
        for path, operations in documented.document["paths"].items()
        for method, operation in operations.items()
        if method != "get" and operation.get("x-role") != "viewer"
    }
    assert len(writing) > 10
    # What the bus has not confirmed may be there or not, too, and its own code says so.
    published = writing.pop("post /api/messages/{topic}")
    assert "`BUS_UNAVAILABLE`" in published
    assert [name for name, said in writing.items() if "`OUTCOME_UNKNOWN`" not in said] == []
    assert "`OUTCOME_UNKNOWN`" not in str(documented.document["paths"]["/api/workflow/validate"])


async def test_a_body_that_may_be_left_out_is_documented_so(client: Client, documented: Documented) -> None:
    optional = set()
    for path, operations in documented.document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                answer = await client.request(method, path.replace("{id}", _no_id(operation)))
                # A callback has no id in its path: what it misses, it says.
                is_optional = answer.status_code == (400 if "callbacks" in path else 404)
                if is_optional:
                    optional.add(f"{method} {path}")
                assert operation["requestBody"]["required"] == (not is_optional), path
    assert "post /api/workflow/{id}/activate" in optional


def _no_id(operation: dict[str, Any]) -> str:
    """An id of the kind that this operation takes, and that nothing has."""
    numbers = [one for one in operation.get("parameters", ()) if one["schema"].get("type") == "integer"]
    return "999999" if numbers else "nothing"


def test_every_example_in_the_document_is_valid(documented: Documented) -> None:
    checked = 0
    for operations in documented.document["paths"].values():
        for operation in operations.values():
            for part in operation.get("requestBody", {}).get("content", {}).values():
                documented.check_schema(part["schema"], part["example"])
                checked += 1
    assert checked > 5


async def test_the_documented_example_of_a_workflow_can_be_saved(
    client: Client, documented: Documented
) -> None:
    content = documented.document["paths"]["/api/workflow"]["post"]["requestBody"]["content"]
    for media, part in content.items():
        example = part["example"]
        sent = {"json": example} if media.endswith("json") else {"content": example}
        answer = await client.post("/api/workflow", headers={"Content-Type": media}, **sent)
        assert answer.status_code == 201, answer.text


async def test_health_names_each_dependency(client: Client) -> None:
    for path in ("/actuator/health", "/health/ready"):
        found = (await client.get(path)).json()
        assert found["status"] == "UP"
        assert {name: part["status"] for name, part in found["components"].items()} == {
            "database": "UP",
            "migrations": "UP",
        }
        assert found["components"]["database"]["details"]["latencyMs"] >= 0


async def test_a_head_is_a_get_without_its_body(client: Client) -> None:
    for path in ("/health/live", "/", "/nope"):
        asked = await client.get(path, headers={"X-Request-Id": "same"})
        answer = await client.head(path, headers={"X-Request-Id": "same"})
        assert (answer.status_code, answer.content) == (asked.status_code, b"")
        assert answer.headers["content-length"] == asked.headers["content-length"]


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Exception:
    """A database that has gone: every call says so, in words that name a host."""
    gone = Unavailable("connection to db.internal refused")

    async def refuse(self: object, work: object, **_: object) -> object:
        raise gone

    for kind in (ThreadedDatabase, AsyncDatabase):
        monkeypatch.setattr(kind, "read", refuse)
        monkeypatch.setattr(kind, "write", refuse)
    return gone


async def test_a_database_that_is_away_makes_it_unready_but_not_dead(
    house: House, client: Client, away: Exception
) -> None:
    ready = await client.get("/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (503, "DOWN")
    assert "db.internal" not in ready.text
    assert (await client.get("/health/live")).status_code == 200
    listed = await client.get("/api/workflow")
    assert (listed.status_code, listed.json()["code"], listed.headers["retry-after"]) == (
        503,
        "UNAVAILABLE",
        "1",
    )
    assert "db.internal" not in listed.text


async def test_a_commit_whose_outcome_is_unknown_is_said_to_be_so(
    house: House, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(self: object, work: object, *, single: bool = False) -> object:
        raise CommitUnknown("gone")

    for kind in (ThreadedDatabase, AsyncDatabase):
        monkeypatch.setattr(kind, "write", lost)
    answer = await client.post("/api/tokens", json={"name": "x", "roles": ["viewer"]})
    assert (answer.status_code, answer.json()["code"]) == (503, "OUTCOME_UNKNOWN")


async def test_a_fault_of_ours_is_a_problem_without_its_details(
    house: House, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: object, work: object) -> object:
        raise RuntimeError("secret detail")

    for kind in (ThreadedDatabase, AsyncDatabase):
        monkeypatch.setattr(kind, "read", broken)
    with capture_logs() as lines:
        answer = await client.get("/api/workflow")
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL_ERROR")
    assert "request failed" in [line["event"] for line in lines]
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text


async def test_metrics_count_requests_by_route_and_not_by_path(client: Client) -> None:
    for name in ("one", "two", "three"):
        await client.get(f"/api/workflow/{name}")
        await client.get(f"/nowhere/{name}")
    await client.request("BREW", "/health/live")
    text = (await client.get("/metrics")).text
    assert (
        'http_server_requests_seconds_count{method="GET",status="404",uri="/api/workflow/{id}"} 3.0' in text
    )
    assert 'http_server_requests_seconds_count{method="GET",status="404",uri="NOT_FOUND"} 3.0' in text
    assert 'method="OTHER"' in text
    assert "nowhere" not in text


async def test_a_caller_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    async with built(tmp_path, api={"rate-limit": 1}) as client:
        answers = [await client.get("/api/workflow") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1].json()["code"] == "RATE_LIMITED"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await client.get("/health/live")).status_code == 200


async def test_an_instance_without_the_role_web_answers_health_and_metrics_only(tmp_path: Path) -> None:
    async with built(tmp_path, roles="engine") as client:
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.get("/metrics")).status_code == 200
        assert (await client.get("/api/workflow")).status_code == 404


async def test_with_an_issuer_nobody_comes_in_without_a_token_and_metrics_need_a_viewer(
    tmp_path: Path,
) -> None:
    oidc = {"issuer-uri": "http://127.0.0.1:9/", "audience": "muster"}
    async with built(tmp_path, oidc=oidc) as client:
        for path in ("/api/workflow", "/metrics", "/api/tokens"):
            assert (await client.get(path)).status_code == 401
        for path in ("/health/live", "/docs"):
            assert (await client.get(path, headers={"Host": "muster.example.org"})).status_code == 200


async def test_without_the_providers_keys_it_is_not_ready(tmp_path: Path) -> None:
    oidc = {"issuer-uri": "http://127.0.0.1:9/", "audience": "muster"}
    async with built(tmp_path, oidc=oidc) as client:
        ready = await client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "DOWN")
        provider = ready.json()["components"]["openIdProvider"]
        assert provider["status"] == "DOWN"
        assert "no token can be checked" in provider["details"]["reason"]


@pytest.mark.parametrize(
    "issuer", ["garbage", "ftp://id.example", "https://", "https:id.example", "http://[x"]
)
async def test_an_issuer_that_is_no_address_is_refused_at_the_start(tmp_path: Path, issuer: str) -> None:
    with pytest.raises(CannotOpen, match="OIDC_ISSUER_URI is no address"):
        async with built(tmp_path, oidc={"issuer-uri": issuer, "audience": "muster"}):
            pass


async def test_a_database_that_could_not_be_written_makes_it_unready_for_a_while(
    house: House, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(self: object, work: object, *, single: bool = False) -> object:
        raise Unavailable("database or disk is full")

    with monkeypatch.context() as patched:
        for kind in (ThreadedDatabase, AsyncDatabase):
            patched.setattr(kind, "write", full)
        assert (await client.post("/api/workflow", json=WORKFLOW)).status_code == 503
    ready = await client.get("/health/ready")
    assert ready.status_code == 503
    assert (
        ready.json()["components"]["database"]["details"]["reason"] == "it could not be written a moment ago"
    )
    monkeypatch.setattr(watched_database, "REMEMBERED_SECONDS", 0.0)
    assert (await client.get("/health/ready")).status_code == 200


async def test_a_request_has_one_line_in_the_log_with_its_ids_and_without_its_query(client: Client) -> None:
    with capture_logs(processors=[merge_contextvars]) as lines:
        await client.get("/api/workflow?q=private", headers={"X-Request-Id": "order-17"})
    (line,) = [line for line in lines if line["event"] == "request"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/workflow", 200)
    assert (line["request_id"], len(line["trace_id"])) == ("order-17", 32)
    assert "private" not in str(lines)


async def test_being_asked_for_health_is_not_worth_a_line(client: Client) -> None:
    with capture_logs() as lines:
        await client.get("/health/live")
    assert [line["log_level"] for line in lines] == ["debug"]
