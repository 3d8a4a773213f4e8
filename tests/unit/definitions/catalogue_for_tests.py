"""The catalogue that definition tests check against, and shorthands for what they look at."""

from muster.definitions.check import Checked, check
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.model.workflow import Definition
from muster.nodes import builtin, demo

CATALOGUE = Catalogue(builtin(), demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)


def checked(document: Json) -> Checked:
    return check(document, CATALOGUE)


def loaded(document: Json) -> Definition:
    """The definition of a document that must be valid."""
    found = checked(document)
    assert found.definition is not None, found.errors
    return found.definition


def places(document: Json) -> list[tuple[str, str]]:
    """Code and pointer of each error and warning."""
    return [(problem.code, problem.pointer) for problem in checked(document).problems]


def errors(document: Json) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in checked(document).errors]


def warnings(document: Json) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in checked(document).warnings]


def one_node(config: Json, type_: str = "NOOP", **fields: Json) -> JsonObject:
    """A workflow of a single node."""
    return {"name": "One", "nodes": [{"type": type_, "config": config, **fields}]}
