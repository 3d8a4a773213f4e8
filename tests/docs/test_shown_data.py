"""What pages show as JSON, YAML or TOML is what they say it is: workflows and nodes are valid, settings are
read, queries are taken, and mistakes are told as shown."""

import json
import tomllib
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from muster.app.build import opened
from muster.app.certifying import known_with
from muster.app.cli.opening import plugged_in
from muster.app.load import load
from muster.app.settings import Settings
from muster.definitions.check import check
from muster.definitions.text import read
from muster.expr.template import compile_template
from muster.model.node_type import Catalogue
from muster.nodes import builtin, demo
from shown_blocks import Block, block, every_block

CATALOGUE = Catalogue(builtin(), demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)
DATA = [each for each in every_block() if each.language in ("json", "yaml", "toml")]
WORKFLOWS = {"nodes", "steps", "workflow"}
# With types and queries of the plug-in beside it: tests/scenario/test_plugins.py runs it.
OF_THE_PLUG_IN = "docs/extending.md json 1"
REGISTERED = {
    "docs/data.md json 1": "/api/data-sources",
    "docs/data.md json 2": "/api/queries",
    "docs/data.md json 3": "/api/actions",
}
MISTAKE = "docs/api.md json 1"
TEXTS = "docs/expressions.md json 1"
COMPENSATION = "docs/commands.md yaml 2"
CERTIFIED = "docs/certify.md yaml 1"
KNOWN = {OF_THE_PLUG_IN, *REGISTERED, MISTAKE, TEXTS, COMPENSATION, CERTIFIED}


def parsed(shown: Block) -> Any:
    return json.loads(shown.text) if shown.language == "json" else yaml.safe_load(shown.text)


def is_workflow(shown: Block) -> bool:
    return shown.language != "toml" and bool(WORKFLOWS & parsed(shown).keys())


def is_node(shown: Block) -> bool:
    return shown.language != "toml" and {"type", "config"} <= parsed(shown).keys()


def names(of: list[Block]) -> list[str]:
    return [each.name for each in of]


PLAIN = [each for each in DATA if each.name not in KNOWN]
SETTINGS = [each for each in PLAIN if each.language == "toml"]
DEFINITIONS = [each for each in PLAIN if is_workflow(each)]
NODES = [each for each in PLAIN if is_node(each)]


def test_it_is_known_of_everything_that_is_shown_what_it_is() -> None:
    assert {*names(SETTINGS), *names(DEFINITIONS), *names(NODES), *KNOWN} == set(names(DATA))
    assert len(DEFINITIONS) > 5
    assert len(NODES) > 5


def problems(document: object) -> list[str]:
    found = check(read(json.dumps(document).encode()), CATALOGUE)
    return [] if found.definition is not None else [str(each) for each in found.problems]


@pytest.mark.parametrize("shown", DEFINITIONS, ids=names(DEFINITIONS))
def test_a_workflow_that_is_shown_is_valid(shown: Block) -> None:
    assert check(read(shown.text.encode()), CATALOGUE).definition is not None


@pytest.mark.parametrize("shown", NODES, ids=names(NODES))
def test_a_node_that_is_shown_is_valid_in_a_workflow(shown: Block) -> None:
    node = {"id": "shown", **parsed(shown)}
    routes = [each for route in node.get("routing", ()) for each in route.items()]
    others = [{"id": way, "type": "NOOP", "config": {}} for name, way in routes if name.endswith("NodeId")]
    assert problems({"workflow": {"name": "Shown", "nodes": [node, *others]}}) == []


def test_the_compensation_that_is_shown_is_one_of_the_command_above_it() -> None:
    document = parsed(block("docs/commands.md yaml 1"))
    document["steps"][0]["config"] |= parsed(block(COMPENSATION))
    assert problems(document) == []


def test_what_is_said_to_be_registered_is_understood_by_certify() -> None:
    shown = parsed(block(CERTIFIED))
    known = known_with(plugged_in(), shown)
    assert set(shown["actions"]) <= set(known.catalogue.actions)
    assert set(shown["queries"]) <= set(known.catalogue.queries)


@pytest.mark.parametrize("shown", SETTINGS, ids=names(SETTINGS))
def test_settings_that_are_shown_are_read(shown: Block, tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(shown.text)
    given = tomllib.loads(shown.text)
    found = load({}, {}, tmp_path)
    assert {path.partition(".")[0] for path in found.sources} == set(given)


def test_the_texts_that_are_shown_hold_expressions() -> None:
    for text in parsed(block(TEXTS)).values():
        compile_template(text)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    key = b64encode(bytes(32)).decode()
    settings = Settings.model_validate({"data-dir": str(tmp_path), "secret-key": key})
    async with opened(settings) as house:
        transport = httpx.ASGITransport(house.api)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


async def test_a_data_source_a_query_and_an_action_are_taken_as_they_are_shown(
    server: httpx.AsyncClient,
) -> None:
    await server.post("/api/secrets", json={"name": "shop_password", "value": "hunter2"})
    for name, path in REGISTERED.items():
        answer = await server.post(path, json=parsed(block(name)))
        assert answer.status_code == 201, answer.text


async def test_a_mistake_is_told_in_the_form_that_is_shown(server: httpx.AsyncClient) -> None:
    wrong = {"workflow": {"name": "Wrong", "nodes": [{"id": "a", "type": "SEND_EMIAL", "config": {}}]}}
    answer = await server.post("/api/workflow", json=wrong)
    shown, told = parsed(block(MISTAKE)), answer.json()
    assert (answer.status_code, set(told)) == (shown["status"], set(shown))
    assert {name: told[name] for name in ("type", "title", "code")} == {
        name: shown[name] for name in ("type", "title", "code")
    }
    [first] = shown["errors"]
    [same] = [each for each in told["errors"] if each["code"] == first["code"]]
    assert {**same, "message": first["message"]} == first
