"""What visits do only once under a key: they claim it, and tell that it is done or free again."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from muster.model.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """A visit that is about to do what may be done only once under a key; its execution has this fence."""

    hash: str
    execution_id: str
    node: str
    visit: int
    fence: int


class Standing(StrEnum):
    """How a claim stands that nobody has done yet: it is whose who asked, or somebody else is at it."""

    MINE = "mine"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """What a claim is for was done before, and what it came to: None and nothing, once the execution that did
    it was removed."""

    execution_id: str
    output: Json
    changes: JsonObject


@dataclass(frozen=True, slots=True)
class NodeDone:
    """A visit has done what it had claimed. For so long that counts; None: for good."""

    node: str
    visit: int
    kept_for: timedelta | None


@dataclass(frozen=True, slots=True)
class NodeReleased:
    """A visit has failed to do what it had claimed: the next may."""

    node: str
    visit: int
