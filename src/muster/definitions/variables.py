"""Which names a node may count on: what is always there, and what some node before it sets."""

from collections.abc import Mapping

from muster.definitions.graph import Successors, components

ALWAYS = frozenset(
    {
        "item",
        "index",
        "workflowId",
        "instituteId",
        "workflow",
        "nodeOutputs",
        "_trigger",
        "_vars",
        "_execution",
        "_nodes",
        "_error",
    }
)


class Variables:
    """What may be set before and after each node. A set of names is one whole number, a bit for each."""

    _ANYTHING = 1

    def __init__(self, sets: Mapping[str, frozenset[str] | None], successors: Successors) -> None:
        """`sets` says what each node sets; None: that cannot be known, so nothing after it is doubted."""
        self._bits: dict[str, int] = {}
        self._own = {
            node: self._ANYTHING if names is None else self._mask(names) for node, names in sets.items()
        }
        self._before = self._flow(successors)

    def _mask(self, names: frozenset[str]) -> int:
        mask = 0
        for name in names:
            mask |= 1 << self._bits.setdefault(name, len(self._bits) + 1)
        return mask

    def _flow(self, successors: Successors) -> dict[str, int]:
        before = dict.fromkeys(self._own, 0)
        for component in reversed(components(self._own, successors)):
            goes_round = len(component) > 1 or component[0] in successors.get(component[0], ())
            arriving = own = 0
            for node in component:
                arriving |= before[node]
                own |= self._own[node]
            for node in component:
                before[node] = arriving | own if goes_round else before[node]
            for node in component:
                for after in successors.get(node, ()):
                    before[after] |= before[node] | self._own[node]
        return before

    def known(self, name: str, node: str, after: bool = False) -> bool:
        """Whether `name` may be set when `node` begins, or once it is done."""
        mask = self._before[node] | (self._own[node] if after else 0)
        if name in ALWAYS or mask & self._ANYTHING:
            return True
        return name in self._bits and bool(mask >> self._bits[name] & 1)
