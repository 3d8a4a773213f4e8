"""What a registry says of the schemas of a workflow that is about to be saved."""

from collections.abc import Iterator, Sequence

from muster.definitions.pointers import child
from muster.model.json import JsonObject, JsonView
from muster.model.problems import Problem
from muster.model.workflow import Definition, Node
from muster.nodes.message_schemas import SchemaAway
from muster.nodes.resolved import BadParameter
from muster.schemas.messages import IN_REGISTRY, in_registry
from muster.schemas.registry import Registry

TOPICS = {"schema": ("commandTopic", "topic"), "replySchema": ("replyTopic",)}
# What a level promises beside itself.
HOLDS = {
    "BACKWARD": {"BACKWARD", "BACKWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"},
    "FORWARD": {"FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"},
    "FULL": {"FULL", "FULL_TRANSITIVE"},
}


class Compatibility:
    """Asks registries about the schemas that say which `compatibility` they want."""

    def __init__(self, registry: Registry, default_registry: str | None) -> None:
        self._registry, self._default = registry, default_registry

    async def problems(self, definition: Definition) -> Sequence[Problem]:
        found = [await self._problem(*each) for each in _asking(definition)]
        return [problem for problem in found if problem is not None]

    async def _problem(self, node: Node, pointer: str, schema: JsonObject, topic: str) -> Problem | None:
        wanted = str(schema["compatibility"])
        try:
            place = in_registry(schema, topic, self._default)
            misfits = None
            if place.written is None:
                await self._registry.by_subject(place.at, place.subject, place.version)
            else:
                misfits = await self._registry.misfits(place.at, place.subject, place.kind, place.written)
            level = await self._registry.level(place.at, place.subject)
        except SchemaAway as away:
            return _told(node, pointer, f"{away}; so its compatibility cannot be checked", "REGISTRY_AWAY")
        except BadParameter as bad:
            return _told(node, pointer, str(bad))
        if level not in HOLDS[wanted]:
            told = f"the registry holds `{place.subject}` to {level}, and not to {wanted}"
            return _told(node, child(pointer, "compatibility"), told)
        if misfits is None:
            return None
        why = f": {'; '.join(misfits)}" if misfits else ""
        told = f"the schema is not {wanted} compatible with the latest of `{place.subject}`{why}"
        return _told(node, child(pointer, "schema"), told)


def _asking(definition: Definition) -> Iterator[tuple[Node, str, JsonObject, str]]:
    """The schemas that are to be checked, with their places and their topics as they are written."""
    for index, node in enumerate(definition.nodes):
        for config, *path in _configs(node):
            for name, topics in TOPICS.items():
                schema = config.get(name)
                if not isinstance(schema, dict) or schema.get("type") not in IN_REGISTRY:
                    continue
                if schema.get("compatibility") in HOLDS:
                    topic = next((str(config[each]) for each in topics if each in config), "")
                    yield node, child("", "nodes", index, *path, name), schema, topic


def _configs(node: Node) -> Iterator[tuple[JsonView, *tuple[str, ...]]]:
    """What a node is told, and what it is told to undo it by; with where that is."""
    yield node.config, "config"
    if isinstance(undo := node.config.get("compensation"), dict):
        # It goes to its own topic, or to the one that is undone.
        topic = {"commandTopic": undo.get("topic", node.config.get("commandTopic", ""))}
        yield {**topic, **undo}, "config", "compensation"
    if isinstance(undo := (node.compensate or {}).get("config"), dict):
        yield undo, "compensate", "config"


def _told(node: Node, pointer: str, why: str, code: str = "INCOMPATIBLE_SCHEMA") -> Problem:
    return Problem(code, pointer, f"{node.id}: {why}.")
