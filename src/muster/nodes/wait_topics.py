"""The topics that definitions wait on: known when they are saved, so that what comes before the first wait is
heard as well."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from muster.definitions.document import nodes_of
from muster.engine.event_keys import TopicFields
from muster.model.json import JsonObject, JsonView
from muster.nodes.event_wait_plan import topics_of
from muster.nodes.resolved import BadParameter
from muster.nodes.wait_events import enabled_events

NODE_TYPE = "WAIT_EVENTS"
# What begins an expression in a text.
EXPRESSIONS = ("#{", "@{")
# What has to be known to listen for a block's events.
ASKED = ("topic", "correlationIdField", "executionIdField", "bufferFor")


class WaitedOn(NamedTuple):
    """What a definition waits on. `loose` are topics of which only a wait that begins knows all."""

    fields: tuple[TopicFields, ...] = ()
    loose: frozenset[str] = frozenset()


class Change(NamedTuple):
    """What is to be listened for otherwise than it is, and for what no more."""

    anew: tuple[TopicFields, ...]
    unwanted: tuple[TopicFields, ...]


def waited_on(document: JsonObject) -> WaitedOn:
    """What the nodes of a canonical document wait on."""
    nodes = [node for node in nodes_of(document) if node.type.upper() == NODE_TYPE]
    blocks = [block for node in nodes for block in enabled_events(node.config).values()]
    fields: list[TopicFields] = []
    loose: set[str] = set()
    for block in blocks:
        try:
            found = () if _is_loose(block) else topics_of({"kafkaEvent": dict(block)})
        except BadParameter:
            continue  # its wait will fail, and hear nothing
        fields += found
        loose |= {str(block["topic"])} if "topic" in block and _is_loose(block) else set()
    return WaitedOn(tuple(longest(fields)), frozenset(loose))


def _is_loose(block: JsonView) -> bool:
    return any(mark in str(block.get(name, "")) for name in ASKED for mark in EXPRESSIONS)


def longest(fields: Iterable[TopicFields]) -> list[TopicFields]:
    """Each place where ids are once, in their order: early events are kept as long as anybody wants."""
    kept: dict[tuple[str, str, str], int] = {}
    for *place, seconds in fields:
        kept[place[0], place[1], place[2]] = max(seconds, kept.get((place[0], place[1], place[2]), 0))
    return [TopicFields(*place, seconds) for place, seconds in sorted(kept.items())]


def to_change(kept: Collection[TopicFields], wanted: Collection[WaitedOn]) -> Change:
    """What makes what is listened for what is wanted. Loose topics are left as the waits have made them."""
    loose = frozenset[str]().union(*(each.loose for each in wanted))
    by_place = _by_place(longest(fields for each in wanted for fields in each.fields))
    present = _by_place(kept)
    anew = [
        fields
        for place, fields in by_place.items()
        if place not in present or (fields != present[place] and fields.topic not in loose)
    ]
    unwanted = [each for place, each in present.items() if place not in by_place and each.topic not in loose]
    return Change(tuple(anew), tuple(unwanted))


def _by_place(fields: Iterable[TopicFields]) -> Mapping[tuple[str, ...], TopicFields]:
    return {each[:3]: each for each in fields}
