"""`advance` against a naive interpreter of the same rules, over random graphs and random orders."""

import random
from datetime import UTC, datetime

import pytest

from muster.engine.advance import advance
from muster.engine.codec import decode, encode
from muster.engine.graph import compile_graph
from muster.engine.state import Completed, Event, ExecutionStatus, Failed, Failure, Phase, Started, State
from muster.engine.view import Facts
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node
from muster.sim.reference import Reference

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = Facts("e1", "w1", 1, "", NOW)
GRAPHS = 2_000
MOST_STEPS = 40 * 5 + 1  # every node may be visited five times


def random_definition(chance: random.Random) -> Definition:
    """Up to 40 nodes: chains, forks, joins, diamonds, loops, error edges, all routing kinds."""
    count = chance.randint(1, chance.choice([4, 10, 40]))
    names = [f"n{place}" for place in range(count)]
    edges: list[Edge] = []
    for place, name in enumerate(names):
        later = names[place + 1 :]
        for target in chance.sample(later, min(len(later), chance.choice([0, 1, 1, 1, 2, 3]))):
            edges += random_edges(chance, name, target, chance.choice(names))
        if chance.random() < 0.15:
            question = f"#{{c_{name}}}"
            edges.append(
                Edge(name, chance.choice(names), EdgeType.CONDITIONAL, condition=question, value=True)
            )
    nodes = tuple(random_node(chance, name, names, is_start=name == "n0") for name in names)
    return Definition("random", nodes, tuple(edges))


def random_edges(chance: random.Random, source: str, target: str, other: str) -> list[Edge]:
    match chance.choice(["goto", "goto", "goto", "conditional", "switch"]):
        case "conditional":
            return [Edge(source, target, EdgeType.CONDITIONAL, condition=f"#{{c_{source}}}", value=True)]
        case "switch":
            question = f"#{{s_{source}}}"
            return [
                Edge(source, target, EdgeType.SWITCH, expression=question, value="1"),
                Edge(source, other, EdgeType.SWITCH, expression=question, value=2),
            ]
        case _:
            return [Edge(source, target)]


def random_node(chance: random.Random, name: str, names: list[str], is_start: bool) -> Node:
    on_error = chance.choice([None, None, "continue", {"goto": chance.choice(names)}])
    join = chance.choices([Join.ALL, Join.EACH], [9, 1])[0]
    return Node(
        name,
        "NOOP",
        {},
        is_start=is_start,
        is_end=chance.random() < 0.05,
        on_error=on_error,
        join=join,
        max_visits=5,
    )


def outcome(seed: int, node: str, visit: int) -> Event:
    """What happens to a visit, the same whoever asks."""
    chance = random.Random(f"{seed}/{node}/{visit}")
    if chance.random() < 0.04:
        return Failed(node, visit, Failure("Broken", "it broke"))
    changes = {f"c_{node}": chance.random() < 0.5, f"s_{node}": chance.choice([1, 2, 3])}
    return Completed(node, visit, changes, changes)


@pytest.mark.parametrize("block", range(4))
def test_random_graphs_run_as_the_naive_interpreter_says_and_replay_to_the_same_state(block: int) -> None:
    for seed in range(block * GRAPHS // 4, (block + 1) * GRAPHS // 4):
        check_one(seed)


def check_one(seed: int) -> None:
    chance = random.Random(seed)
    definition = random_definition(chance)
    context = {f"{kind}_{node.id}": None for node in definition.nodes for kind in "cs"}
    graph, reference = compile_graph(definition), Reference(definition, context=dict(context))
    journal: list[Event] = [Started(dict(context))]
    states = [advance(graph, {}, FACTS, State(), journal[0], NOW).state]
    reference.start()
    while not states[-1].finished:
        assert len(states) <= MOST_STEPS, f"seed {seed} does not end"
        under_way = sorted((t.node, t.visit) for t in states[-1].tokens if t.phase is Phase.RUNNING)
        if not reference.failed:
            assert set(under_way) == reference.running, f"seed {seed}"
        event = outcome(seed, *chance.choice(under_way))
        assert isinstance(event, Completed | Failed)
        journal.append(event)
        states.append(advance(graph, {}, FACTS, states[-1], event, NOW).state)
        if not reference.failed:
            reference.happen(event)
    assert (states[-1].finished is ExecutionStatus.FAILED) == reference.failed, f"seed {seed}"
    if not reference.failed:
        assert dict(states[-1].visits) == reference.visits, f"seed {seed}"
    replay_from_any_checkpoint(graph, journal, states, chance)


def replay_from_any_checkpoint(
    graph, journal: list[Event], states: list[State], chance: random.Random
) -> None:
    """Rebuilt from a checkpoint (the first of all, or another) and any part of the journal after it, the
    execution stands where it stood."""
    for start in (0, chance.randrange(len(states))):
        state = decode(encode(states[start]), states[start].context, states[start].outputs)
        for event, expected in zip(journal[start + 1 :], states[start + 1 :], strict=True):
            state = advance(graph, {}, FACTS, state, event, NOW).state
            assert state == expected
