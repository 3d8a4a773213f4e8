"""Reading large values that are kept aside, when somebody asks for them."""

import logging
from collections.abc import Collection

from muster.engine.lines import about_execution
from muster.engine.live import Live
from muster.engine.ports import Executions, NotWritten
from muster.kit.backoff import until_it_works
from muster.model.aside import asides_in

log = logging.getLogger(__name__)


async def read_into(live: Live, executions: Executions, digests: Collection[str]) -> None:
    """Put these values into the execution. The store may be away, but they are there."""

    def tell(away: Exception) -> None:
        told = about_execution(live.facts)
        log.warning("execution %s: its large values cannot be read yet: %s", live.facts.id, away, extra=told)

    values = await until_it_works(lambda: executions.large_values(live.facts.id, digests), NotWritten, tell)
    if missing := set(digests) - values.keys():
        raise LookupError(f"execution {live.facts.id} has lost its large values {sorted(missing)}")
    live.fill(values)


async def read_all_into(live: Live, executions: Executions, names: Collection[str] | None = None) -> None:
    """Put in what stands aside in these variables; None: in all of them, and in the nodes' outputs."""
    state = live.state
    if names is None:
        digests = {aside.sha256 for held in (state.context, state.outputs) for aside in asides_in(held)}
    else:
        digests = {aside.sha256 for name in names for aside in asides_in(state.context.get(name))}
    if digests:
        await read_into(live, executions, digests)
