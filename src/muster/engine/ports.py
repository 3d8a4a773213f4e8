"""What the engine needs kept for it: the store behind the executions that it owns."""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import timedelta
from typing import Protocol

from muster.engine.journal import Signal
from muster.engine.node_claims import DoneBefore, NodeClaim, Standing
from muster.engine.openings import Closing, InVain
from muster.engine.owned import Begun, NewExecution, OwnedExecution, Progress, StoredCheckpoint
from muster.engine.trials import Suspects
from muster.model.json import Json, JsonObject


class Lost(Exception):
    """Somebody else owns the execution now: whoever is told so writes nothing more of it."""


class NotWritten(Exception):
    """The store was away, or lost its answer: perhaps written, perhaps not. Writing it again is safe."""


class Executions(Protocol):
    """Executions and their journal. Every write of an owner carries its fence. Whatever is asked raises
    `NotWritten` if the store is away."""

    async def start(self, new: NewExecution) -> Begun:
        """Durable when this returns: running and owned (or ready for anyone), or queued by its limit; or
        another has its key, and nothing was written. Raises `NotWritten`."""
        ...

    async def write(self, progress: Progress) -> None:
        """Durable when this returns. Raises `NotWritten`, or `Lost`: the fence has moved on."""
        ...

    async def claim_node(self, claim: NodeClaim) -> Standing | DoneBefore:
        """Claim what may be done only once, before it is done. It stays claimed until the visit is written as
        done or as failed, or its execution has ended. Raises `NotWritten`, or `Lost`: the fence has moved
        on, and nothing was claimed."""
        ...

    async def expire(self, execution_id: str, fence: int, closing: Closing) -> Sequence[Signal]:
        """Close what these visits have opened, because their time is over, and say what has reached the
        execution. What was answered before is among it; what was not can no longer be answered.
        Raises `NotWritten`, or `Lost`."""
        ...

    async def has_long_lists(self, ending: InVain) -> bool:
        """Whether more children have waited in vain than are ended in one transaction. Raises
        `NotWritten`."""
        ...

    async def give_up_held(self, ending: InVain) -> None:
        """End children that have waited in vain, so many at a time: what is left for the write that they are
        given up with is little. Raises `NotWritten`, or `Lost`."""
        ...

    async def signals(self, owner: str) -> Mapping[str, Sequence[Signal]]:
        """What has reached the executions that this owner holds, by their ids."""
        ...

    async def renew(self, owner: str, ids: Sequence[str]) -> Collection[str]:
        """Hold on to these for a further lease by the database's clock, and say which are this owner's still.

        Only what is driven: an execution that was claimed by a commit whose answer got lost is owned by
        somebody who does not know, and has to run out.
        """
        ...

    async def claim_due(self, owner: str, limit: int) -> Sequence[OwnedExecution]:
        """Take executions whose time has come and that nobody owns. They may be light."""
        ...

    async def claim_abandoned(self, owner: str, limit: int, takeovers: int) -> Sequence[OwnedExecution]:
        """Take executions whose owner's lease has run out, and that were taken over so often before without
        having made progress since."""
        ...

    async def checkpoints(self, ids: Collection[str]) -> Mapping[str, "StoredCheckpoint"]:
        """Contexts and states of executions that this owner has claimed. Raises `NotWritten`."""
        ...

    async def suspects(self) -> Suspects | None:
        """Of those whose owner's lease has run out, and that were taken over before without having made
        progress since: how often the one was that has been waiting for longest, and how many are like it."""
        ...

    async def end_leases(self, owner: str, prefix: str) -> None:
        """This owner has started: let the leases of others be over whose names begin so, since they are its
        earlier incarnations."""
        ...

    async def starts_since_takeover(self, execution_id: str) -> int:
        """How many owners have started since this was taken over for the first time without having made
        progress since."""
        ...

    async def release(self, owner: str) -> int:
        """Let go of all that this owner holds, under new fences: it writes nothing more, and whoever looks
        next takes them. Says how many there were."""
        ...

    async def put_off(self, taken: Sequence[OwnedExecution], pause: timedelta, uncount: bool) -> None:
        """Let go of what was just claimed and not begun: it is due again after a pause. `uncount`: that it
        was claimed counted as a takeover, and no longer does. What another has claimed is left alone; what
        was untouched still is."""
        ...

    async def admit_queued(self, limit: int) -> int:
        """Look again at the limits that executions are queued at: what they have room for becomes due. How
        many these were; 0: there is no room that anybody waits for."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long it takes, by the database's clock, until the next execution comes due that nobody owns;
        nothing, or less, for one that is due. None: there is none."""
        ...

    async def next_lease_end(self) -> timedelta | None:
        """How long it takes, by the database's clock, until the next lease of any owner runs out; nothing, or
        less, for one that has. None: nobody holds anything."""
        ...

    async def large_values(self, execution_id: str, digests: Collection[str]) -> Mapping[str, Json]:
        """Values that are kept beside the execution, by their digests. Raises `NotWritten`."""
        ...

    async def done_items(self, execution_id: str, node: str, visit: int) -> Set[str]:
        """The keys of the items of a visit that are journaled as done. Raises `NotWritten`."""
        ...

    async def failed_items(self, execution_id: str, node: str, visit: int) -> Mapping[str, JsonObject]:
        """The errors of the items of a visit that have failed for good, by their keys. Raises
        `NotWritten`."""
        ...

    async def item_outputs(
        self, execution_id: str, node: str, visit: int, keys: Sequence[str]
    ) -> Mapping[str, Json]:
        """What these items came to, as far as they are done; an `Aside` stands for what is large. Raises
        `NotWritten`."""
        ...
