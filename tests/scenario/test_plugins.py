"""Plug-ins: found by entry point and by name, refused in a sentence, and then part of everything."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from api_for_tests import Client, Documented
from muster.app.build import opened
from muster.app.settings import Settings
from muster.app.storage import CannotOpen

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text()
MUSTER = Path(sys.executable).with_name("muster")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """Writes a module that can be imported in this test alone."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(name: str, code: str) -> str:
        (tmp_path / f"{name}.py").write_text(code)
        return name

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


@asynccontextmanager
async def house(folder: Path, *plugins: str) -> AsyncIterator[Client]:
    settings = Settings.model_validate({"data_dir": str(folder / "data"), "plugins": list(plugins)})
    async with opened(settings) as built:
        async with Client(built.api, Documented({"paths": {}})) as plain:
            plain.event_hooks = {}
            documented = Documented((await plain.get("/openapi.json")).json())
        async with Client(built.api, documented) as client:
            yield client


async def ran(client: Client, document: object, context: object = None) -> dict[str, Any]:
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    body = {"workflowId": made.json()["id"], "context": context or {}}
    ended = await client.post("/api/workflow/execute", params={"wait": "20"}, json=body)
    found = await client.get(f"/api/workflow/executions/{ended.json()['executionId']}")
    result: dict[str, Any] = found.json()
    return result


def code_of(guide: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", guide, re.S)
    assert found
    return found[1]


async def test_the_guides_plug_in_works_as_it_stands(tmp_path: Path, module: Callable[..., str]) -> None:
    async with house(tmp_path, module("guide_plugin", code_of(GUIDE, "python"))) as client:
        run = await ran(client, json.loads(code_of(GUIDE, "json")), {"name": "Ada"})
        assert run["status"] == "COMPLETED", run["error"]
        assert run["context"]["shouted"] == "HELLO ADA"
        assert [node["output"] for node in run["nodes"]][:2] == [{"loud": "HELLO ADA"}, {"letters": 9}]
        assert run["context"]["planets"] == [{"name": "Mercury"}, {"name": "Venus"}]


async def test_a_type_is_listed_validated_and_drawn_like_any_other(
    tmp_path: Path, module: Callable[..., str]
) -> None:
    async with house(tmp_path, module("guide_plugin", code_of(GUIDE, "python"))) as client:
        listed = {row["name"]: row for row in (await client.get("/api/workflow/node-types")).json()["items"]}
        assert (listed["SHOUT"]["kind"], listed["SHOUT"]["category"]) == ("pure", "Text")
        assert listed["SHOUT"]["schema"]["required"] == ["text"]
        wrong = {"nodes": [{"type": "shout", "config": {"txet": "x"}}]}
        found = (await client.post("/api/workflow/validate", json=wrong)).json()
        codes = {problem["code"] for problem in found["errors"]}
        assert codes == {"UNKNOWN_FIELD", "MISSING_FIELD"}
        right = {"nodes": [{"id": "a", "type": "SHOUT", "config": {"text": "hey"}}]}
        drawn = (await client.post("/api/workflow/visualize", json=right)).json()
        assert drawn["nodes"][0]["steps"] == ["Shout hey."]


async def test_a_query_in_sql_runs_on_the_administrators_data_source(
    tmp_path: Path, module: Callable[..., str]
) -> None:
    import sqlite3

    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data" / "shop.db") as shop:
        shop.executescript(
            "CREATE TABLE orders (id INTEGER, email TEXT, status TEXT, days INTEGER);"
            "INSERT INTO orders VALUES (1, 'a@example.com', 'OPEN', 9), (2, 'b@example.com', 'OPEN', 1)"
        )
    shop.close()
    query = {"nodes": [{"id": "q", "type": "QUERY", "config": {"prebuiltKey": "getOpenOrders"}}]}
    async with house(tmp_path, module("guide_plugin", code_of(GUIDE, "python"))) as client:
        missing = await ran(client, {"workflow": {"name": "Before", **query}})
        assert "there is no data source `shop`" in str(missing["error"])
        await client.post("/api/data-sources", json={"key": "shop", "url": "sqlite:///shop.db"})
        run = await ran(client, {"workflow": {"name": "Orders", **query}})
        assert run["context"]["openOrders"] == [{"id": 1, "email": "a@example.com"}]
        taken = {"key": "getOpenOrders", "dataSource": "shop", "sql": "SELECT 1 AS one"}
        assert (await client.post("/api/queries", json=taken)).status_code == 409
        taken = {"key": "countLetters", "dataSource": "shop", "sql": "DELETE FROM orders"}
        assert (await client.post("/api/actions", json=taken)).status_code == 409


BLOCKING = """
import threading, time
from muster.plugin import Registry

together = threading.Barrier(2, timeout=60)

def meet(params, call):
    together.wait()
    return {"thread": threading.current_thread().name}

def register(registry: Registry) -> None:
    registry.action("meet", meet)
"""


async def test_a_function_that_blocks_holds_nobody_up(tmp_path: Path, module: Callable[..., str]) -> None:
    async with house(tmp_path, module("blocking", BLOCKING)) as client:
        each = {"actionType": "meet", "on": "#{people}"}
        document = {"workflow": {"name": "Meet", "nodes": [{"id": "m", "type": "ACTION", "config": each}]}}
        run = await ran(client, document, {"people": [1, 2]})
        assert run["status"] == "COMPLETED", run["error"]
        threads = {result["thread"] for result in run["nodes"][0]["output"]["results"]}
        assert len(threads) == 2
        assert threading.current_thread().name not in threads


KINDS = """
from datetime import timedelta
from muster.plugin import Done, Failure, NodeKind, NodeType, Phase, Registry, Suspend

def type_of(name, kind, *fields):
    properties = {field: {"title": field} for field in fields}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return NodeType(name, kind, "Test", name, "A test.", schema)

tries = []

def rest(params, call):
    if call.woken:
        return {"woken": True}
    return Suspend(Phase.PAUSED, "paused", call.now + timedelta(milliseconds=5))

def flaky(params, call):
    tries.append(call.key)
    if len(tries) == 1:
        return Failure("Busy", "not yet", retryable=True)
    return {"said": params["say"], "keys": list(tries)}

def wrong(params, call):
    return {"a": {1, 2}}

def raising(params, call):
    raise RuntimeError("private words")

def register(registry: Registry) -> None:
    registry.node(type_of("REST", NodeKind.WAIT), rest)
    registry.node(type_of("FLAKY", NodeKind.EFFECT, "say"), flaky)
    registry.node(type_of("WRONG", NodeKind.PURE), wrong)
    registry.node(type_of("RAISING", NodeKind.EFFECT), raising)
    registry.query("getNothing", lambda params, call: {"no": "list"})
"""


def one(type_: str, config: object = None, **more: object) -> dict[str, object]:
    node = {"id": "n", "type": type_, "config": config or {}, **more}
    return {"workflow": {"name": type_, "nodes": [node]}}


async def test_waits_retries_and_lists_are_the_engines_affair(
    tmp_path: Path, module: Callable[..., str]
) -> None:
    async with house(tmp_path, module("kinds", KINDS)) as client:
        assert (await ran(client, one("REST")))["nodes"][0]["output"] == {"woken": True}
        soon = {"maxAttempts": 2, "initialDelay": "1ms"}
        output = (await ran(client, one("FLAKY", {"say": "#{word}"}, retry=soon), {"word": "hi"}))["nodes"][
            0
        ]["output"]
        assert output["said"] == "hi"
        assert len(output["keys"]) == 2
        assert len(set(output["keys"])) == 1, "a repeat has the same key"
        config = {"on": "#{words}", "forEach": {"say": "#{item}"}}
        listed = await ran(client, {**one("FLAKY", config)}, {"words": ["a", "b"]})
        assert [each["said"] for each in listed["nodes"][0]["output"]["results"]] == ["a", "b"]
        bare = await client.post("/api/workflow/validate", json=one("FLAKY", {"on": "#{words}"}))
        assert [problem["code"] for problem in bare.json()["errors"]] == ["MISSING_FIELD"]


async def test_what_is_not_json_and_what_raises_fail_their_node_alone(
    tmp_path: Path, module: Callable[..., str]
) -> None:
    async with house(tmp_path, module("kinds", KINDS)) as client:
        wrong = await ran(client, one("WRONG"))
        assert (wrong["status"], wrong["error"]["type"]) == ("FAILED", "BadResult")
        assert "a set" in wrong["error"]["message"]
        raising = await ran(client, one("RAISING", retry={"maxAttempts": 1}))
        assert raising["error"]["type"] == "RuntimeError"
        assert "private words" not in json.dumps(raising)
        rows = await ran(client, one("QUERY", {"prebuiltKey": "getNothing"}))
        assert "a query answers a list of rows" in str(rows["error"])


GOOD_TYPE = (
    "from muster.plugin import NodeKind, NodeType\n"
    "def type_of(name='MINE', kind=NodeKind.EFFECT, **fields):\n"
    "    return NodeType(name, kind, 'c', 't', 'd', {'type': 'object', 'properties': fields})\n"
    "def f(params, call): return None\n"
    "async def g(params, call): return None\n"
    "def register(registry): "
)
BAD = {
    "no_module": (None, "cannot be imported: ModuleNotFoundError"),
    "breaks": ("1 / 0", "cannot be imported: ZeroDivisionError"),
    "registers_nothing": ("x = 1", "has no function `register`"),
    "raises": ("def register(registry): raise ValueError('oh no')", "cannot register: ValueError: oh no"),
    "twice": (
        GOOD_TYPE + "registry.node(type_of(), f); registry.node(type_of('mine'), f)",
        "registers the node type `mine` twice",
    ),
    "no_type": (GOOD_TYPE + "registry.node('MINE', f)", "registers a node type that is no `NodeType`"),
    "takes_a_built_in": (
        GOOD_TYPE + "registry.node(type_of('query'), f)",
        "`query`, which comes with Muster",
    ),
    "bad_schema": (
        GOOD_TYPE + "registry.node(type_of(a={'type': 'strnig'}), f)",
        "is no JSON Schema (draft 2020-12): /properties/a/type",
    ),
    "takes_a_field": (GOOD_TYPE + "registry.node(type_of(on={}), f)", "with a field `on`"),
    "starts": (
        GOOD_TYPE + "registry.node(type_of(kind=NodeKind.START), f)",
        "starts come with Muster",
    ),
    "awaits": (
        GOOD_TYPE + "registry.node(type_of(kind=NodeKind.PURE), g)",
        "an asynchronous handler, which only an effect may have",
    ),
    "no_function": ("def register(registry): registry.action('a', 3)", "which cannot be called"),
    "no_arguments": (
        "def register(registry): registry.action('a', lambda: None)",
        "does not take two arguments, `params` and `call`",
    ),
    "bad_name": ("def register(registry): registry.action('a b', print)", "whose name is not a letter"),
    "bad_sql": (
        "def register(registry): registry.sql_query('getX', 'shop', 'DELETE FROM x')",
        "registers the query `getX`, but: A query begins with",
    ),
    "bad_result": (
        "def register(registry): registry.query('getX', lambda p, c: [], result_key='item')",
        "`item` cannot be a name in the context",
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_what_cannot_work_ends_the_start_in_a_sentence_that_names_the_plug_in(
    name: str, tmp_path: Path, module: Callable[..., str]
) -> None:
    code, sentence = BAD[name]
    if code is not None:
        module(name, code)
    with pytest.raises(CannotOpen) as refused:
        async with house(tmp_path, name):
            pass
    assert f"The plug-in `{name}` " in str(refused.value)
    assert sentence in str(refused.value)


async def test_two_plug_ins_with_one_name_are_both_named(tmp_path: Path, module: Callable[..., str]) -> None:
    for name in ("first", "second"):
        module(name, "def register(registry): registry.action('same', lambda params, call: None)")
    with pytest.raises(
        CannotOpen, match=r"`second` registers the action `same`, which the plug-in `first` has"
    ):
        async with house(tmp_path, "first", "second"):
            pass


# --- a package with a real entry point -----------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built and installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    uv = Path(sys.executable).with_name("uv")
    package = ROOT / "examples" / "ledger-plugin"
    options = ["-q", "--python", sys.executable, "--no-deps", "--no-build-isolation", "--offline"]
    subprocess.run([uv, "pip", "install", *options, "--target", folder, package], check=True)
    return folder


def muster(
    installed: Path, folder: Path, *arguments: str, **variables: str
) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    environment = {**kept, "PYTHONPATH": str(installed), "LEDGER_FILE": str(folder / "ledger"), **variables}
    return subprocess.run(
        [MUSTER, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_installed_package_is_found_by_its_entry_point_and_runs(installed: Path, tmp_path: Path) -> None:
    shown = muster(installed, tmp_path, "node-types", "show", "LEDGER_BOOK")
    assert json.loads(shown.stdout)["title"] == "Book an amount"
    workflow = str(ROOT / "examples" / "ledger-plugin" / "workflow.json")
    assert muster(installed, tmp_path, "validate", workflow).returncode == 0
    orders = '{"orders": [{"shop": "north", "total": 12}, {"shop": "south", "total": 30}]}'
    done = muster(installed, tmp_path, "run", workflow, "--context", orders, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    assert result["status"] == "COMPLETED"
    booked = [json.loads(line) for line in (tmp_path / "ledger").read_text().splitlines()]
    assert sorted((entry["account"], entry["amount"]) for entry in booked) == [
        ("north", -12),
        ("north", 12),
        ("south", 30),
    ]
    assert result["nodes"][2]["output"] == {"closed": "north"}


def test_the_same_module_by_name_too_is_asked_once(installed: Path, tmp_path: Path) -> None:
    listed = muster(installed, tmp_path, "node-types", "ls", MUSTER_PLUGINS="muster_ledger")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("LEDGER_BOOK") == 1


def test_a_command_says_which_plug_in_is_wrong(installed: Path, tmp_path: Path) -> None:
    refused = muster(installed, tmp_path, "node-types", "ls", MUSTER_PLUGINS="nobody_has_this")
    assert refused.returncode == 3
    assert refused.stderr.startswith("The plug-in `nobody_has_this` cannot be imported")
    serving = muster(installed, tmp_path, "serve", "--port", "0", MUSTER_PLUGINS="nobody_has_this")
    assert (serving.returncode, "nobody_has_this" in serving.stderr) == (3, True)
