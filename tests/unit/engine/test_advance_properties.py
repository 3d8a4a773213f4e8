"""`advance` against a naive interpreter of the same rules, over random graphs and random orders."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from muster.engine.advance import advance
from muster.engine.codec import decode, encode
from muster.engine.graph import compile_graph
from muster.engine.state import Completed, Event, ExecutionStatus, Failed, Failure, Phase, Started, State
from muster.engine.view import Facts
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = Facts("e1", "w1", 1, "", NOW)
GRAPHS = 2_000


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


@dataclass
class Reference:
    """The rules again, slowly: sets and searches, nothing kept between steps but tokens and counts."""

    definition: Definition
    visits: dict[str, int] = field(default_factory=dict)
    running: set[tuple[str, int]] = field(default_factory=set)
    joining: set[str] = field(default_factory=set)
    context: dict[str, object] = field(default_factory=dict)
    failed: bool = False

    def node(self, name: str) -> Node:
        return next(node for node in self.definition.nodes if node.id == name)

    def ways(self) -> list[tuple[str, str]]:
        errors = [
            (node.id, node.on_error["goto"])
            for node in self.definition.nodes
            if isinstance(node.on_error, dict)
        ]
        return [(edge.source, edge.target) for edge in self.definition.edges] + errors

    def reaches(self, source: str, target: str) -> bool:
        seen: set[str] = set()
        front = {source}
        while front:
            front = {after for before, after in self.ways() if before in front} - seen
            seen |= front
        return target in seen

    def enter(self, target: str) -> None:
        inbound = sum(after == target for _, after in self.ways())
        if self.node(target).join is Join.ALL and inbound > 1:
            self.joining.add(target)
        else:
            self.visit(target)

    def visit(self, target: str) -> None:
        self.visits[target] = self.visits.get(target, 0) + 1
        if self.visits[target] > 5:
            self.failed = True
        else:
            self.running.add((target, self.visits[target]))

    def settle(self) -> None:
        order = [node.id for node in self.definition.nodes]
        while self.joining and not self.failed:
            standing = sorted(self.joining, key=order.index)
            live = [name for name, _ in self.running] + standing
            free = [
                name
                for name in standing
                if not any(
                    self.reaches(other, name) for other in live if other != name or live.count(name) > 1
                )
            ]
            if not free and self.running:
                return
            chosen = (free or standing)[0]
            self.joining.discard(chosen)
            self.visit(chosen)

    def happen(self, event: Completed | Failed) -> None:
        self.running.discard((event.node, event.visit))
        node = self.node(event.node)
        if isinstance(event, Failed):
            if node.on_error is None:
                self.failed = True
            elif isinstance(node.on_error, dict):
                self.enter(node.on_error["goto"])
                return self.settle()
        else:
            self.context.update(event.changes)
        if not self.failed and not node.is_end:
            for target in self.targets(event.node):
                self.enter(target)
        return self.settle()

    def targets(self, name: str) -> list[str]:
        found = []
        for edge in self.definition.edges:
            if edge.source != name:
                continue
            if edge.type is EdgeType.CONDITIONAL:
                taken = self.context.get(f"c_{name}") is True
            elif edge.type is EdgeType.SWITCH:
                taken = str(self.context.get(f"s_{name}")) == str(edge.value)
            else:
                taken = True
            found += [edge.target] if taken else []
        return found


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
    reference.enter("n0")
    reference.settle()
    while not states[-1].finished:
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
    """Rebuilt from a checkpoint and the journal after it, the execution stands where it stood."""
    start = chance.randrange(len(states))
    state = decode(encode(states[start]), states[start].context, states[start].outputs)
    for event, expected in zip(journal[start + 1 :], states[start + 1 :], strict=True):
        state = advance(graph, {}, FACTS, state, event, NOW).state
        assert state == expected
