"""Whatever can befall a cache, at every question that it is asked in a run, one blow a run.

The run is the engine's, without any other fault: three instances, random workflows, people.
"""

from collections.abc import Iterator
from functools import partial

from muster.sim.scenarios.engine import simulate as simulate_engine
from muster.sim.scenarios.engine.aimed import Aim, Blow
from muster.sim.seeds import run_in
from muster.sim.world import World

SHOWN = 40


def simulate(world: World) -> list[str]:
    """All that can happen to this seed's run; what was found wrong with the first that fails."""
    for aim in aims(world.seed):
        world.note("world", f"question {aim.at}: {aim.blow}")
        if found := struck(world.seed, aim):
            return found
    return []


def aims(seed: int) -> Iterator[Aim]:
    undisturbed = Aim()
    if found := struck(seed, undisturbed):
        raise RuntimeError(f"without any blow: {found}")
    for at in range(undisturbed.asked):
        for blow in Blow:
            yield Aim(at, blow)


def struck(seed: int, aim: Aim) -> list[str]:
    """What is wrong after this one blow, and what happened last."""
    scenario = partial(simulate_engine, aim=aim)
    failure = run_in(World(seed, traced=False), scenario)
    if failure is None:
        return []
    again = run_in(World(seed), partial(simulate_engine, aim=Aim(aim.at, aim.blow)))
    trace = again.trace if again else ["(run again, all was well: it does not repeat)"]
    return [f"question {aim.at}, {aim.blow}", *failure.wrong, *trace[-SHOWN:]]
