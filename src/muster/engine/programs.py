"""Programs of versions, made when first needed and kept: a version never changes."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping

from muster.definitions.document import from_document
from muster.engine.program import Program, compile_program
from muster.model.json import JsonObject
from muster.model.node_type import NodeType

MOST_KEPT = 1000


class Programs:
    """`document` finds the canonical document of a version by its id."""

    def __init__(
        self, document: Callable[[int], Awaitable[JsonObject]], node_types: Mapping[str, NodeType]
    ) -> None:
        self._document = document
        self._node_types = node_types
        self._kept: OrderedDict[int, Program] = OrderedDict()

    def kept(self, version_id: int) -> Program | None:
        """None: it would have to be read."""
        return self._kept.get(version_id)

    async def of(self, version_id: int) -> Program:
        """Raises `LookupError` if there is no such version."""
        if version_id in self._kept:
            self._kept.move_to_end(version_id)
            return self._kept[version_id]
        program = compile_program(from_document(await self._document(version_id)), self._node_types)
        self._kept[version_id] = program
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return program
