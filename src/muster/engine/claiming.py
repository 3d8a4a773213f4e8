"""Claiming what may be done only once for a key, before it is done, and waiting for who is at it."""

import asyncio
import logging
from collections.abc import Iterable

from muster.engine.dedupe import Dedupe
from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.live import Live
from muster.engine.node_claims import DoneBefore, NodeClaim, NodeDone, NodeReleased, Standing
from muster.engine.openings import Opening
from muster.engine.ports import Executions, NotWritten
from muster.engine.state import Failure, Phase
from muster.expr import ExpressionError, to_text
from muster.kit.backoff import until_it_works
from muster.kit.changes import Changes
from muster.model.execution import NodeStatus
from muster.model.once import once

# How soon to look again whether whoever is at it has done it.
LOOK_AGAIN = 1.0

log = logging.getLogger(__name__)


class Claiming:
    """Claims keys for visits. Who waits for a key that somebody in this process has hears at once when it is
    settled; for others it looks again every second."""

    def __init__(self, executions: Executions) -> None:
        self._executions, self._settled = executions, Changes()

    def settled(self, live: Live, opens: Iterable[Opening]) -> None:
        """What visits have come to is durable, and so is what became of their claims."""
        for opening in opens:
            if isinstance(opening, NodeDone | NodeReleased):
                self._settled.tell(live.claimed.pop((opening.node, opening.visit), ""))

    async def claim(self, live: Live, dedupe: Dedupe, call: Call) -> Outcome | None:
        """None: this visit is to do it, and nobody else does. Otherwise what becomes of the visit instead: it
        was done before, somebody is at it, or its key cannot be computed. Raises `Lost`."""
        try:
            key = to_text(dedupe.key.resolve(call.scope))
        except ExpressionError as error:
            return Failure("ExpressionError", f"the key of `dedupe`: {error.message}")
        if not key:
            return Failure("ExpressionError", "the key of `dedupe` comes to nothing")
        own = once(call.institute_id, call.workflow_id, ("node", call.node_id, key)).hash
        assert own is not None, "made of parts"
        wanted = NodeClaim(own, call.execution_id, call.node_id, call.visit, live.fence)
        with self._settled.listening(own) as settled:
            standing = await self._until_settled(wanted, settled)
        match standing:
            case Standing.MINE:
                live.claimed[call.node_id, call.visit] = own
                return None
            case Standing.BUSY:
                return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now)
            case DoneBefore(execution_id, output, changes):
                return Done(output, changes, (f"done before, by execution {execution_id}",), skipped=True)

    async def _until_settled(self, wanted: NodeClaim, settled: asyncio.Event) -> Standing | DoneBefore:
        """How the claim stands. Where somebody else is at it, asked again for a while whenever one is settled
        here."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + LOOK_AGAIN
        while (standing := await self._claimed(wanted)) is Standing.BUSY:
            try:
                async with asyncio.timeout_at(give_up):
                    await settled.wait()
            except TimeoutError:
                break
            settled.clear()
        return standing

    async def _claimed(self, wanted: NodeClaim) -> Standing | DoneBefore:
        def tell(away: Exception) -> None:
            ids = {"execution_id": wanted.execution_id}
            log.debug("execution %s: its claim is not written yet: %s", wanted.execution_id, away, extra=ids)

        return await until_it_works(lambda: self._executions.claim_node(wanted), NotWritten, tell)
