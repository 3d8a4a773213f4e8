"""What happened, kept where no crash reaches it."""

from collections import Counter
from dataclasses import dataclass, field

from muster.model.workflow import Definition
from muster.sim.scenarios.engine.invariants import Snapshot


@dataclass
class Ledger:
    """`seen` is the database as of the last commit. `accepted` was acknowledged to whoever started it;
    `cancelled` and `retried` are what people asked for, whether or not they had an answer. Of the
    definitions, `culprits` bring their owners down. `cached` counts what the cache was good for."""

    definitions: dict[int, Definition]
    culprits: frozenset[int] = frozenset()
    seen: Snapshot = field(default_factory=Snapshot)
    accepted: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    calm: bool = False
    cached: Counter[str] = field(default_factory=Counter)

    def blame(self, found: list[str]) -> None:
        """Note what was found wrong, each thing once."""
        self.wrong += [one for one in found if one not in self.wrong]
