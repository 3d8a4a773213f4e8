"""A workflow's certificate: which runs are made for it, how many, and what they come to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.sim.certify.choices import Way, explore
from muster.sim.certify.commits import Crash
from muster.sim.certify.found import Outcome
from muster.sim.certify.instance import MakeExecutions
from muster.sim.certify.judging import (
    Ending,
    Lateness,
    Loss,
    Made,
    Repeat,
    Unfinished,
    endings,
    goes_on_with,
    latenesses,
    losses,
    repeats,
)
from muster.sim.certify.run import Ran, Stage
from muster.sim.certify.subject import Subject, key_of
from muster.store.executions import ExecutionRepository

MOST_RUNS = 500
# How much of it finds the ways; the rest crashes on them.
WAYS_IN = 4
Heard = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Certificate:
    """`ways` are the orders and timeouts that were gone through, each without a crash and with `crashes` in
    all; of both some may be left out. `commits` are those of the usual way. `went_on_with` has the waits that
    go on with other events where they come in another order."""

    workflow: str
    ways: int
    crashes: int
    commits: int
    ways_left_out: int
    crashes_left_out: int
    unfinished: tuple[Unfinished, ...]
    losses: tuple[Loss, ...]
    repeats: tuple[Repeat, ...]
    endings: tuple[Ending, ...]
    latenesses: tuple[Lateness, ...]
    usual: Outcome | None
    went_on_with: Mapping[str, tuple[tuple[str, ...], ...]]
    accepted: frozenset[str] = frozenset()

    @property
    def runs(self) -> int:
        return self.ways + self.crashes

    @property
    def unkeyed(self) -> tuple[Repeat, ...]:
        """Repeats that nobody can tell from the first time, and that are not accepted."""
        return tuple(each for each in self.repeats if not each.keyed and not self.accepts(each))

    def accepts(self, repeat: Repeat) -> bool:
        """Whether it is said that a repeat by this node does no harm, in whichever execution."""
        return repeat.node.rpartition(" > ")[2] in self.accepted

    @property
    def depends_on_order(self) -> bool:
        return len(self.endings) > 1

    def holds(self, strict: bool = False) -> bool:
        """It ends, nothing is lost, and what is repeated is recognised. Strictly, it completes usually, the
        order changes nothing, and nothing was left out."""
        if self.losses or self.unkeyed or self.unfinished:
            return False
        left_out = self.ways_left_out + self.crashes_left_out
        completes = self.usual is not None and self.usual.status == "COMPLETED"
        return not strict or (completes and not self.depends_on_order and not left_out)


def certify(
    subject: Subject,
    most_runs: int = MOST_RUNS,
    accepted: frozenset[str] = frozenset(),
    heard: Heard = lambda runs: None,
    make: MakeExecutions = ExecutionRepository,
) -> Certificate:
    """Make the runs, at most so many. `heard` is told how many there have been; repeats by `accepted` nodes
    are said to do no harm."""
    stage, done = Stage(subject, make), 0

    def run(way: Way, crash: Crash | None = None) -> Ran:
        nonlocal done
        ran = stage.run(way, crash)
        done += 1
        heard(done)
        return ran

    ways, ways_left_out = explore(run, max(1, most_runs // WAYS_IN))
    planned = [(way, usual, crash) for way, usual in ways for crash in _crashes(way, usual)]
    chosen = planned[: max(0, most_runs - len(ways))]
    made = [(usual, Made(way, None, usual)) for way, usual in ways]
    made += [
        (usual, Made(_followed(usual), crash, run(_followed(usual), crash))) for _, usual, crash in chosen
    ]
    without_crash = [usual for _, usual in ways]
    return Certificate(
        key_of(subject.definitions[subject.main]),
        len(ways),
        len(chosen),
        without_crash[0].commits,
        ways_left_out,
        len(planned) - len(chosen),
        tuple(Unfinished(usual.stuck, way.script) for way, usual in ways if usual.stuck is not None),
        tuple(loss for usual, each in made for loss in losses(usual, each)),
        repeats(made),
        endings(without_crash),
        latenesses(without_crash),
        without_crash[0].outcome,
        goes_on_with(without_crash),
        accepted,
    )


def _crashes(way: Way, usual: Ran) -> list[Crash]:
    """Before and after every commit of a way since it parted from the one that it was found on: up to there,
    they are the same. Where the world has heard nothing since the commit before, a crash before this one is
    the same as one after that. What does not end by itself is not crashed as well."""
    if usual.stuck is not None:
        return []
    heard = (-1, *usual.heard_at)
    return [
        Crash(at, after)
        for at in range(way.parts_after + 1, usual.commits + 1)
        for after in (False, True)
        if after or heard[at] != heard[at - 1]
    ]


def _followed(usual: Ran) -> Way:
    """The whole way, so that a run which crashes does not take another."""
    return Way(tuple(choice.chosen for choice in usual.choices))
