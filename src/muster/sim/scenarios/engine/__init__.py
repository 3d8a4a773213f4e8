"""The engine under faults: what was accepted ends as it should, and no journaled effect happens again.

Three instances, of which some join later, share a database that fails and loses answers; they crash at any
commit and at any call, freeze and wake up as if no time had passed, drain and leave when they are asked to,
and start again. They run random workflows, and people pause, resume, cancel and retry those. Effects reach a
sink outside over a network that loses, doubles and delays. In half of the runs they share a cache, which is
flushed, frozen, cut off and failed over to an older copy, and answers late or not at all; some workflows ask
for no more than that. Every commit is looked at. In the end the faults stop, and everything that was accepted
has to finish as the naive interpreter says.

| module | holds |
|---|---|
| `story` | how a run goes, and the instances |
| `workflows` | the random workflows and their nodes |
| `sink` | the world that effects reach |
| `people` | what is done by hand |
| `weather` | the faults |
| `caching` | the cache, and what befalls it |
| `ledger` | what happened, kept where no crash reaches it |
| `watch` | looking at every commit |
| `invariants` | what must hold, each a small function with a name |
"""

from muster.sim.scenarios.engine.story import simulate

__all__ = ["simulate"]
