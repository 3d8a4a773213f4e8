"""One blow to the cache, at whichever question: nothing is lost, and nothing happens twice."""

import pytest

from muster.engine.cached_context import Kept
from muster.sim.scenarios.blows import aims, struck
from muster.sim.scenarios.engine.aimed import Aim, Blow
from muster.sim.scenarios.engine.caching import IN_CACHE_IN
from muster.sim.world import World

SEED = 0
# One of its workflows is content with what the cache has.
IN_CACHE_SEED = 1
# Each blow at every so many'th question, so that all of them are struck by some; `make simulate ONLY=blows`
# tries each at all of them.
SOME = {SEED: 6, IN_CACHE_SEED: 12}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SOME)
@pytest.mark.parametrize("part", range(2))
def test_no_blow_to_the_cache_loses_or_doubles_anything(part: int, seed: int) -> None:
    order = {blow: number for number, blow in enumerate(Blow)}
    some = [aim for aim in aims(seed) if aim.blow and (aim.at + order[aim.blow]) % SOME[seed] == 0]
    assert {aim.blow for aim in some} == set(Blow)
    for aim in some[part::2]:
        found = struck(seed, aim)
        assert not found, "\n".join(found)


def test_some_of_the_blows_strike_workflows_that_are_content_with_the_cache() -> None:
    drawn = {seed: World(seed).chance("durability").random() < IN_CACHE_IN for seed in SOME}
    assert drawn == {SEED: False, IN_CACHE_SEED: True}


def test_the_blow_is_struck_at_the_question_that_was_aimed_at_and_the_run_is_another_for_it() -> None:
    undisturbed, crashed = Aim(), Aim(20, Blow.CRASH)
    assert not struck(SEED, undisturbed)
    assert not struck(SEED, crashed)
    assert min(undisturbed.asked, crashed.asked) > 20
    assert undisturbed.asked != crashed.asked


@pytest.mark.slow
def test_an_old_replica_that_is_believed_blindly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it still has is of an earlier owner."""
    monkeypatch.setattr(Kept, "is_of", lambda *_: True)
    monkeypatch.setattr(Kept, "is_beyond", lambda *_: True)
    old = (aim for aim in aims(SEED) if aim.blow is Blow.OLD)
    assert any(struck(SEED, aim) for aim in old)
