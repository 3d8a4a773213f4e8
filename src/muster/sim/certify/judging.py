"""What runs of one workflow say of it: what was lost, what was repeated, what depends on the order. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.sim.certify.choices import Choice, Way, is_late
from muster.sim.certify.commits import Crash
from muster.sim.certify.far_side import Effect, Place
from muster.sim.certify.found import Outcome, Step
from muster.sim.certify.run import Ran


@dataclass(frozen=True, slots=True)
class Made:
    """A run: by which way, with which crash, and what came of it."""

    way: Way
    crash: Crash | None
    ran: Ran


@dataclass(frozen=True, slots=True)
class Loss:
    """What was lost, and in which run; `script` leads there again."""

    what: str
    crash: Crash | None
    script: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A way that does not end, without any crash, and why."""

    why: str
    script: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """An effect of a node that was done again, in so many runs; the first was that with this crash. `keyed`:
    each time with the same key. `changes`: what it said was not always the same."""

    node: str
    what: str
    runs: int
    keyed: bool
    changes: bool
    crash: Crash | None


@dataclass(frozen=True, slots=True)
class Ending:
    """An outcome, in how many orders it came, and what has to come first for it, if not the usual."""

    outcome: Outcome
    orders: int
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lateness:
    """What comes of it if one thing alone does not come in time."""

    name: str
    outcome: Outcome


# --- lost --------------------------------------------------------------------------------------------------


def losses(usual: Ran, made: Made) -> list[Loss]:
    """What a run has lost, measured by the one that went the same way and crashed nowhere. Where that has not
    come to an end itself, nobody can say."""
    if usual.stuck is not None:
        return []
    return [Loss(what, made.crash, made.way.script) for what in _lost(usual, made.ran)]


def _lost(usual: Ran, ran: Ran) -> list[str]:
    if ran.stuck is not None or ran.outcome is None:
        return [f"it did not come to its end: {ran.stuck}"]
    assert usual.outcome is not None, "else it would be stuck"
    return [
        *(
            f"{each.node} went on otherwise than its order table says"
            for each in ran.waits
            if not each.is_known
        ),
        *_other_outcome(usual.outcome, ran.outcome, is_asked=bool(ran.asked)),
        *_missing_effects(usual.effects, ran.effects),
        *_unrecorded(ran.outcome, ran.effects),
        *(f"{each.what} of {each.place} was known to be done, and was done again" for each in ran.again),
        *(f"{name} is missing" for name in sorted(usual.messages - ran.messages)),
    ]


def _other_outcome(usual: Outcome, outcome: Outcome, is_asked: bool) -> list[str]:
    found = []
    if (usual.status, usual.error) != (outcome.status, outcome.error):
        found.append(f"it ended {_ended(outcome)} instead of {_ended(usual)}")
    missing, more = ({str(step.place) for step in each} for each in _differing(usual, outcome))
    found += [f"{place} was not done as it should have been" for place in sorted(missing)]
    found += [f"{place} should not have been done" for place in sorted(more - missing)]
    if not found and not is_asked and usual.output != outcome.output:
        found.append(f"its output is {_short(outcome.output)} instead of {_short(usual.output)}")
    return found


def _differing(usual: Outcome, outcome: Outcome) -> tuple[frozenset[Step], frozenset[Step]]:
    return usual.steps - outcome.steps, outcome.steps - usual.steps


def _ended(outcome: Outcome) -> str:
    return f"{outcome.status} ({outcome.error})" if outcome.error else outcome.status


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _missing_effects(usual: Iterable[Effect], effects: Iterable[Effect]) -> list[str]:
    done = {effect.place for effect in effects}
    lost = {effect.place: effect.what for effect in usual if not effect.reads and effect.place not in done}
    return [f"{what} of {place} did not happen" for place, what in lost.items()]


def _unrecorded(outcome: Outcome, effects: Iterable[Effect]) -> list[str]:
    """What was done, and nobody would know of."""
    known = {step.place for step in outcome.steps}
    places = {effect.place: effect.what for effect in effects if effect.place not in known}
    return [f"{what} of {place} happened, and is not in the journal" for place, what in places.items()]


# --- repeated ----------------------------------------------------------------------------------------------


def repeats(runs: Sequence[tuple[Ran, Made]]) -> tuple[Repeat, ...]:
    """What was done more than once, by node; each run beside the usual one of its way."""
    found: dict[tuple[str, str], Repeat] = {}
    for usual, made in runs:
        for node, what, keyed, changes in _repeated(usual, made.ran):
            before = found.get((node, what))
            if before is None:
                found[node, what] = Repeat(node, what, 1, keyed, changes, made.crash)
            else:
                both = (before.keyed and keyed, before.changes or changes)
                crash = made.crash if before.keyed and not keyed else before.crash
                found[node, what] = Repeat(node, what, before.runs + 1, *both, crash)
    return tuple(found[name] for name in sorted(found))


def _repeated(usual: Ran, ran: Ran) -> list[tuple[str, str, bool, bool]]:
    """Each node and effect once: whether its repeats are recognised, and whether they say the same."""
    found: dict[tuple[str, str], tuple[bool, bool]] = {}
    for place, effects in _by_place(ran.effects).items():
        if len(effects) > 1 and not effects[0].reads:
            keyed = effects[0].key is not None and len({effect.key for effect in effects}) == 1
            changes = len({effect.body for effect in effects}) > 1
            name = (f"{place.execution}{place.node}", effects[0].what)
            before = found.get(name, (True, False))
            found[name] = (before[0] and keyed, before[1] or changes)
    for message in ran.messages - usual.messages:
        node, _, what = message.partition(": ")
        found[node, what] = (False, False)  # each message has an id of its own
    return [(node, what, *how) for (node, what), how in found.items()]


def _by_place(effects: Iterable[Effect]) -> Mapping[Place, list[Effect]]:
    found: dict[Place, list[Effect]] = defaultdict(list)
    for effect in effects:
        found[effect.place].append(effect)
    return found


# --- order -------------------------------------------------------------------------------------------------


def endings(ways: Sequence[Ran]) -> tuple[Ending, ...]:
    """The outcomes that there are where everything comes in time: one, unless they depend on the order."""
    found: dict[object, Ending] = {}
    for ran in ways:
        if ran.outcome is None or any(is_late(choice.chosen) for choice in ran.choices):
            continue
        before = found.get(ran.outcome.place)
        because = _because(ran.choices) if before is None else before.because
        outcome = ran.outcome if before is None else before.outcome
        found[ran.outcome.place] = Ending(outcome, 1 if before is None else before.orders + 1, because)
    return tuple(found.values())


def _because(choices: Sequence[Choice]) -> tuple[str, ...]:
    return tuple(
        f"{choice.chosen} before {choice.options[0]}"
        for choice in choices
        if choice.chosen != choice.options[0]
    )


def latenesses(ways: Sequence[Ran]) -> tuple[Lateness, ...]:
    """What comes of each thing that does not come in time, if all else is as usual."""
    found: dict[str, Lateness] = {}
    for ran in ways:
        unusual = [choice.chosen for choice in ran.choices if choice.chosen != choice.options[0]]
        if ran.outcome is not None and len(unusual) == 1 and is_late(unusual[0]):
            found.setdefault(unusual[0], Lateness(unusual[0], ran.outcome))
    return tuple(found.values())


def goes_on_with(ways: Sequence[Ran]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Of each wait that goes on with other events where they come in another order: with which."""
    found: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for ran in ways:
        for wait in ran.waits:
            if not wait.timed_out:
                found[wait.node][tuple(sorted(wait.arrivals))] += 1
    return {node: tuple(sorted(sets)) for node, sets in found.items() if len(sets) > 1}
