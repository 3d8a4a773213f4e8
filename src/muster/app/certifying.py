"""What `muster certify` certifies, put together: a definition, those that it starts, what they may name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from muster.app.catalogue import catalogue_with
from muster.definitions import text
from muster.definitions.check import check
from muster.kit.names import did_you_mean
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.model.problems import AuthorError
from muster.model.workflow import Definition
from muster.nodes.demo import demo_actions
from muster.nodes.sql import default_result_key, parameters_of
from muster.plugin.registry import Plugged
from muster.sim.certify.subject import PlugIn, Registered, Subject, key_of

SUB_WORKFLOW = "SUB_WORKFLOW"
SUFFIXES = frozenset({".json", ".yaml", ".yml"})
MOST_FILES = 1_000
MOST_BYTES = 1_048_576
_KEY = "_key"


class BadRegistered(Exception):
    """What is said to be registered cannot be understood; the message says why."""


@dataclass(frozen=True, slots=True)
class Known:
    """What definitions may refer to. `keyed_actions` hand on the key of their effect."""

    catalogue: Catalogue
    plugged: Plugged
    keyed_actions: frozenset[str]


class BadChild(Exception):
    """A workflow that is started can be none; the message says which."""


class UnknownNode(Exception):
    """A reply, or an acceptance, for a node that is not there."""


def subject_of(
    definition: Definition,
    folder: Path | None,
    known: Known,
    context: JsonObject,
    replies: JsonObject,
) -> Subject:
    """The subject of a certificate. Workflows that it starts are looked for in the folder, by their keys; one
    that is not there completes at once, with what the replies say of its node. Raises `BadChild`."""
    catalogue, plugged = known.catalogue, known.plugged
    found = _with_children(definition, folder, catalogue, replies)
    return Subject(
        definitions=dict(enumerate(found, start=1)),
        node_types=catalogue.node_types,
        plug_in=PlugIn(frozenset(plugged.effects), plugged.pures, plugged.waits),
        registered=Registered(catalogue.queries, known.keyed_actions),
        context=context,
        replies=replies,
    )


def check_nodes(subject: Subject, names: list[str]) -> None:
    """Raises `UnknownNode`."""
    for name in names:
        if name not in subject.nodes:
            near = did_you_mean(name, subject.nodes)
            hint = f" {near[:1].upper()}{near[1:]}" if near else ""
            raise UnknownNode(f"There is no node `{name}`.{hint}")


def known_with(plugged: Plugged, registered: JsonObject) -> Known:
    """What comes with Muster, what plug-ins add, and what is registered elsewhere: `queries`, the names that
    their rows have by their keys, and `actions`, their SQL by their keys. Raises `BadRegistered`."""
    queries, actions = (_object(registered, name) for name in ("queries", "actions"))
    if unknown := sorted(registered.keys() - {"queries", "actions"}):
        raise BadRegistered(f"`{unknown[0]}` is not known: it has `queries` and `actions`.")
    sqls = {action.key: action.sql for action in demo_actions(datetime.now(UTC))}
    sqls |= {key: _sql(key, sql) for key, sql in actions.items()}
    names = {key: str(name) if name else default_result_key(key) for key, name in queries.items()}
    usual = catalogue_with(plugged)
    catalogue = replace(
        usual, queries={**usual.queries, **names}, actions=frozenset(usual.actions) | actions.keys()
    )
    # SQL has the key of its effect where it reads it; a plug-in's function is given it.
    keyed = {key for key, sql in sqls.items() if _KEY in parameters_of(*sql)}
    return Known(catalogue, plugged, frozenset(plugged.actions) | keyed)


def _object(given: JsonObject, name: str) -> JsonObject:
    found = given.get(name) or {}
    if not isinstance(found, dict):
        raise BadRegistered(f"`{name}` is an object: by their keys, what they are.")
    return found


def _sql(key: str, given: Json) -> tuple[str, ...]:
    statements = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str) for each in statements):
        raise BadRegistered(f"`actions.{key}` is SQL: a text, or a list of them.")
    return tuple(str(each) for each in statements)


def _with_children(
    definition: Definition, folder: Path | None, catalogue: Catalogue, replies: JsonObject
) -> list[Definition]:
    """The definition, and all that it starts, directly or by way of others."""
    beside = dict(_beside(folder, catalogue)) if _starts_others(definition) else {}
    found = {key_of(definition): definition}
    waiting = [definition]
    while waiting:
        for name, node in _started(waiting.pop()):
            if name not in found:
                child = beside.get(name) or _stub(name, replies.get(node), catalogue)
                found[name] = child
                waiting.append(child)
    return list(found.values())


def _starts_others(definition: Definition) -> bool:
    return any(node.type.upper() == SUB_WORKFLOW for node in definition.nodes)


def _started(definition: Definition) -> Iterator[tuple[str, str]]:
    """The workflows that it starts by a name that is written down, each with the node that does."""
    for node in definition.nodes:
        name = node.config.get("workflow")
        if node.type.upper() == SUB_WORKFLOW and isinstance(name, str) and "#{" not in name:
            yield name, node.id


def _beside(folder: Path | None, catalogue: Catalogue) -> Iterator[tuple[str, Definition]]:
    """The valid definitions in a folder, by their keys."""
    files = sorted(folder.iterdir())[:MOST_FILES] if folder is not None else []
    for file in files:
        if file.suffix.lower() in SUFFIXES and file.is_file() and file.stat().st_size <= MOST_BYTES:
            try:
                found = check(text.read(file.read_bytes()), catalogue).definition
            except (AuthorError, OSError):
                continue
            if found is not None:
                yield key_of(found), found


def _stub(key: str, output: object, catalogue: Catalogue) -> Definition:
    nodes: JsonObject = {"id": "stub", "type": "NOOP"}
    said = output if isinstance(output, dict) else {}
    found = check({"workflow": {"key": key, "name": key, "output": said}, "nodes": [nodes]}, catalogue)
    if found.definition is None:
        raise BadChild(f"`{key}` cannot be the key of a workflow.")
    return found.definition
