"""The guide to nodes names every type and every field; the examples are valid."""

import re
from pathlib import Path

import pytest

from muster.definitions.check import check
from muster.definitions.text import read
from muster.model.node_type import Catalogue, NodeType
from muster.nodes import builtin, demo

ROOT = Path(__file__).parents[3]
CATALOGUE = Catalogue(builtin(), demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)
EXAMPLES = sorted((ROOT / "examples").glob("*.json")) + sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("type_", builtin().values(), ids=lambda each: each.name)
def test_every_field_of_every_type_is_in_the_guide(type_: NodeType) -> None:
    guide = (ROOT / "docs" / "nodes.md").read_text()
    section = re.search(rf"^## `{type_.name}`\n(.*?)(?=^## |\Z)", guide, re.M | re.S)
    assert section
    properties = type_.schema["properties"]
    assert isinstance(properties, dict)
    assert set(re.findall(r"^\| `(\w+)` \|", section[1], re.M)) == set(properties)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid_and_without_warnings(path: Path) -> None:
    found = check(read(path.read_bytes()), CATALOGUE)
    assert found.problems == ()
    assert found.definition is not None
    assert found.definition.name


def test_there_are_examples_in_both_languages() -> None:
    assert {path.suffix for path in EXAMPLES} == {".json", ".yaml"}


@pytest.mark.parametrize(
    "block", re.findall(r"```(?:json|yaml)\n(.*?)```", (ROOT / "docs" / "definitions.md").read_text(), re.S)
)
def test_every_definition_in_the_guide_is_valid(block: str) -> None:
    assert check(read(block), CATALOGUE).errors == ()
