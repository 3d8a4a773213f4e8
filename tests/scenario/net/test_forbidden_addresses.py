"""Workflows that are told to call where nobody may: by every way that a URL gets into a node."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from stand_ins.http_site import Asked, Reply, site

UNIT = (Path(__file__).parents[2] / "unit" / "net" / "test_egress_policy.py").read_text()


def listed(name: str) -> list[str]:
    """The spellings that the policy's own tests know."""
    found = re.search(rf"^{name} = \[\n(.*?)^\]", UNIT, re.M | re.S)
    assert found
    return re.findall(r'"([^"]+)",', found[1])


NEVER, WITHIN = listed("NEVER"), listed("WITHIN")
LOOPBACK = [each for each in WITHIN if re.search(r"(?<![\d.])127\.|^\[::1\]|^2130706433|^0x7f|^017", each)]
# Spellings that no resolver and no URL parser agree on: refused as they stand.
STRANGE = [
    "http://127.0.0.1:80@169.254.169.254/",
    "http://169.254.169.254#@example.com/",
    "http://example.com@169.254.169.254/",
    "http://169.254.169.254\\@example.com/",
    "http://\u2460\u2465\u2468.\u2461\u2464\u2463.\u2460\u2465\u2468.\u2461\u2464\u2463/",
    "http://\uff11\uff16\uff19.\uff12\uff15\uff14.\uff11\uff16\uff19.\uff12\uff15\uff14/",
    "http://169。254。169。254/",
    "http://[::ffff:169.254.169.254%25lo]/",
    "http://169.254.169.254.:80/",
    "http:///169.254.169.254/",
    "http:169.254.169.254",
    "HTTP://0xa9.0xfe.0xa9.0xfe/",
    "http://%31%36%39.254.169.254/",
    "http://169.254.169.254%00.example.com/",
    "http://169.254.169.254\t/",
    "http://169.254.169.254\r\nHost: example.com/",
    "file:///etc/passwd",
    "gopher://169.254.169.254/_GET",
    "ftp://169.254.169.254/",
    "dict://169.254.169.254:11211/stat",
    "//169.254.169.254/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
]
REFUSED = {"EgressRefused", "BadUrl"}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A house that others reach, in which the operator has opened every network that can be."""
    open_to_all = {"http": {"allowed_networks": ["private"]}, "host": "0.0.0.0", "insecure": True}
    settings = Settings.model_validate({"data_dir": str(tmp_path), **open_to_all})
    async with (
        opened(settings) as house,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080", timeout=60
        ) as found,
    ):
        yield found


async def ran(client: httpx.AsyncClient, node: dict[str, Any], urls: list[str]) -> dict[str, Any]:
    document = {"workflow": {"name": "Calls", "nodes": [{"id": "n", "retry": {"maxAttempts": 1}, **node}]}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    body = {"workflowId": made.json()["id"], "context": {"urls": urls}}
    ended = await client.post("/api/workflow/execute?wait=60", json=body)
    found = await client.get(f"/api/workflow/executions/{ended.json()['executionId']}")
    result: dict[str, Any] = found.json()["nodes"][0]["output"]
    return result


def test_there_are_enough_spellings() -> None:
    assert len(set(NEVER)) >= 56
    assert len(set(WITHIN)) >= 49
    assert len(LOOPBACK) >= 15
    assert len(set(STRANGE)) == len(STRANGE)


async def test_every_spelling_is_refused_in_a_call_and_in_an_attachment(client: httpx.AsyncClient) -> None:
    urls = [f"http://{host}/" for host in (*NEVER, *LOOPBACK)] + STRANGE
    call = {"type": "REST_SYNC", "config": {"on": "#{urls}", "url": "#{item}"}}
    file = {"filename": "a.txt", "url": "#{item}"}
    mail = {"to": "ada@example.com", "subject": "x", "body": "y", "attachments": [file]}
    send = {"type": "SEND_EMAIL", "config": {"on": "#{urls}", "forEach": mail}}
    for node in (call, send):
        output = await ran(client, node, urls)
        assert output["succeeded"] == 0, node["type"]
        called = [urls[int(error["item"])] for error in output["errors"] if error["type"] not in REFUSED]
        assert called == []
        assert len(output["errors"]) == len(urls)


async def test_a_redirect_leads_to_none_of_them(tmp_path: Path) -> None:
    """From a place that may be called: as many hops as spellings, and each is refused at the first."""
    targets = [f"http://{host}/" for host in NEVER] + ["//169.254.169.254/", "http:\\\\169.254.169.254/"]

    def redirect(asked: Asked) -> Reply:
        return Reply(302, {"Location": targets[int(asked.target.rpartition("/")[2])]})

    settings = Settings.model_validate({"data_dir": str(tmp_path)})
    async with (
        site(redirect) as web,
        opened(settings) as house,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080", timeout=60
        ) as client,
    ):
        urls = [web.url(f"/{number}") for number in range(len(targets))]
        call = {"type": "REST_SYNC", "config": {"on": "#{urls}", "url": "#{item}"}}
        output = await ran(client, call, urls)
    assert output["succeeded"] == 0
    assert {error["type"] for error in output["errors"]} <= REFUSED, output["errors"]
    assert len(web.asked) == len(targets), "each was asked once, and nobody was asked after it"
