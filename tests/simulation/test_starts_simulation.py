"""Starts with keys, instances that crash, clients that repeat: see `muster.sim.scenarios.starts`."""

from dataclasses import replace

import pytest

from muster.engine.node_claims import DoneBefore, NodeClaim, Standing
from muster.engine.owned import Begun, NewExecution
from muster.sim.scenarios.starts import Heard, at_commit, at_end, done_once, simulate
from muster.sim.seeds import first_failure
from muster.sim.world import World
from muster.store.executions import ExecutionRepository

SEEDS = 60


@pytest.mark.slow
def test_of_starts_with_one_key_one_begins_and_is_never_lost() -> None:
    failure = first_failure(simulate, range(SEEDS))
    assert failure is None, str(failure)


class Keyless(ExecutionRepository):
    """Notes the keys, and begins whatever is asked for."""

    async def start(self, new: NewExecution) -> Begun:
        assert new.once is not None
        return await super().start(new._replace(once=replace(new.once, hash=None)))


class Careless(ExecutionRepository):
    """Lets everybody do what may be done once."""

    async def claim_node(self, claim: NodeClaim) -> Standing | DoneBefore:
        await super().claim_node(claim)
        return Standing.MINE


class Stingy(ExecutionRepository):
    """Says of a start that it has begun, and forgets it."""

    async def start(self, new: NewExecution) -> Begun:
        begun = await super().start(new)
        return replace(begun, id=new.id)


@pytest.mark.parametrize(
    ("make", "found"), [(Keyless, "begun twice"), (Stingy, "lost"), (Careless, "done by")]
)
def test_a_mistake_in_the_store_is_found(make: type[ExecutionRepository], found: str) -> None:
    wrong = [said for seed in range(3) for said in simulate(World(seed, traced=False), make)]
    assert any(said.startswith(found) for said in wrong)


def test_what_must_hold_is_asked() -> None:
    assert at_commit([("a", "1", "RUNNING"), ("a", "2", "COMPLETED")]) == ["begun twice: a"]
    assert at_commit([("f", "1", "FAILED"), ("f", "2", "RUNNING")]) == []
    heard = Heard()
    for key in ("a", "b", "c", "f"):
        heard.told[key][f"{key}1"] += 1
    rows = [(key, f"{key}1", "COMPLETED") for key in ("a", "b", "c", "f")]
    assert at_end(rows, heard) == []
    assert at_end([*rows, ("f", "f2", "FAILED")], heard) == []
    assert at_end([*rows, ("a", "a2", "FAILED")], heard) == ["several: a has 2"]
    assert at_end(rows[1:], heard) == ["lost: a1 of a"]
    heard.begun["b1"] = 2
    assert at_end(rows, heard) == ["told twice that it began: b1"]


def test_what_is_done_once_is_asked() -> None:
    assert done_once([("a1", "completed"), ("b1", "skipped")], {"a1"}) == []
    assert done_once([("a1", "completed"), ("b1", "skipped")], {"a1", "b1"}) == ["done by 2"]
    assert done_once([("a1", "skipped"), ("b1", "paused")], {"a1"}) == [
        "said to be done by 0",
        "neither done nor skipped: b1",
    ]
