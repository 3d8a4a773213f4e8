"""Whatever was written down of an execution when its owner went, whoever takes over finds the same state."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.engine.attempt import Settled
from muster.engine.handlers import Done, Outcome, Suspend
from muster.engine.journal import JournalRow, Signal, SignalKind
from muster.engine.live import Live
from muster.engine.owned import NewExecution, OwnedExecution
from muster.engine.program import Program, compile_program
from muster.engine.rebuilding import begin, take_over
from muster.engine.recording import record
from muster.engine.state import ExecutionStatus, Failure, Phase, Run, State, Todo, Undo, Woken
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node

GRAPHS = 400
START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = {"DO": NodeType("DO", NodeKind.EFFECT, "", "DO", "", {})}
MOST_STEPS = 300


def random_definition(chance: random.Random) -> Definition:
    """Up to 40 nodes, with forks, joins, diamonds, loops, error edges, retries and compensation."""
    names = [f"n{place}" for place in range(chance.randint(1, chance.choice([4, 10, 40])))]
    edges = [
        Edge(name, target)
        for place, name in enumerate(names)
        for target in chance.sample(names[place + 1 :], min(len(names) - place - 1, chance.choice([1, 1, 2])))
    ]
    edges += [
        Edge(name, chance.choice(names), EdgeType.CONDITIONAL, condition=f"#{{c_{name}}}", value=True)
        for name in names
        if chance.random() < 0.15
    ]
    return Definition("random", tuple(random_node(chance, name, names) for name in names), tuple(edges))


def random_node(chance: random.Random, name: str, names: list[str]) -> Node:
    return Node(
        name,
        "DO",
        {},
        is_start=name == "n0",
        on_error=chance.choice([None, None, "continue", {"goto": chance.choice(names)}]),
        join=chance.choices([Join.ALL, Join.EACH, Join.ANY], [7, 1, 2])[0],
        retry={"maxAttempts": 3} if chance.random() < 0.7 else {"maxAttempts": 1},
        compensate={"type": "DO"} if chance.random() < 0.3 else None,
        max_visits=4,
    )


def random_outcome(chance: random.Random, todo: Run | Undo, now: datetime) -> Outcome:
    changes: JsonObject = {f"c_{todo.node}": chance.random() < 0.5, "last": todo.node}
    if isinstance(todo, Run) and not todo.woken:
        match chance.choice(["paused", "waiting", *["done"] * 6]):
            case "paused":
                return Suspend(Phase.PAUSED, NodeStatus.PAUSED, now + timedelta(seconds=5))
            case "waiting":
                return Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_TASK, None)
    if chance.random() < 0.15:
        return Failure("Broken", "it broke", retryable=chance.random() < 0.7)
    return Done(chance.choice([changes, None, "text"]), changes)


class Owner:
    """Does what an owner does, one step after another, and remembers what was written after each."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        definition = random_definition(self.chance)
        self.program: Program = compile_program(definition, TYPES)
        self.given: JsonObject = {f"c_{node.id}": None for node in definition.nodes}
        self.now = START
        new = NewExecution("e1", "w1", 1, "", "o", self.given, START)
        self.live, todo = begin(new, self.program)
        self.under_way = self.begun(todo)
        self.journal: dict[tuple[str, int, str], JournalRow] = {}
        self.signals: list[Signal] = []

    def begun(self, todo: tuple[Todo, ...]) -> list[Run | Undo]:
        return [one for one in todo if isinstance(one, Run | Undo)]

    def step(self) -> None:
        """Something settles, is woken, or comes from outside."""
        self.now += timedelta(seconds=1)
        parked = [token for token in self.live.state.tokens if token.phase in (Phase.PAUSED, Phase.RETRYING)]
        waiting = [token for token in self.live.state.tokens if token.phase is Phase.WAITING]
        ways = (
            ["settle"] * 6 * bool(self.under_way)
            + ["wake"] * bool(parked and not self.ends_or_is_held())
            + ["answer"] * bool(waiting)
        )
        ways += ["release"] * self.live.state.held
        if not ways or self.chance.random() < 0.05:
            ways = ["hold", "cancel", "release"]
        match self.chance.choice(ways):
            case "settle":
                self.settle(self.under_way.pop(self.chance.randrange(len(self.under_way))))
            case "wake":
                # That a time has come is not written down: whoever takes over finds it parked, and wakes it.
                # So it is looked at again when the woken one has settled.
                token = self.chance.choice(parked)
                [woken] = self.begun(self.live.happen(Woken(token.node, token.visit), self.now))
                self.settle(woken)
            case "answer":
                token = self.chance.choice(waiting)
                self.signal(SignalKind.ANSWER, {"node": token.node, "visit": token.visit, "answer": 1})
            case "hold":
                self.signal(SignalKind.HOLD, {})
            case "release":
                self.signal(SignalKind.RELEASE, {})
            case "cancel":
                self.signal(SignalKind.CANCEL, {"compensate": self.chance.random() < 0.5})

    def ends_or_is_held(self) -> bool:
        return self.live.state.held or self.live.state.ending is not None

    def settle(self, todo: Run | Undo) -> None:
        outcome = random_outcome(self.chance, todo, self.now)
        assert not (isinstance(todo, Undo) and isinstance(outcome, Suspend))
        row, event = record(self.live, Settled(todo, outcome, self.now), self.now, 1.0)
        self.journal[row.node, row.visit, row.item_key] = row
        self.take(self.live.happen(event, self.now))

    def signal(self, kind: SignalKind, payload: JsonObject) -> None:
        number = len(self.signals) + 1
        self.live.receive([Signal(number, kind, payload)])
        for event in self.live.take_signals():
            self.take(self.live.happen(event, self.now))
        self.signals.append(Signal(number, kind, payload, self.live.taken[number]))

    def take(self, todo: tuple[Todo, ...]) -> None:
        self.under_way += self.begun(todo)

    def successor(self) -> Live:
        """Who takes over now."""
        owned = OwnedExecution(
            id="e1",
            workflow_id="w1",
            version_id=1,
            institute_id="",
            fence=2,
            started_at=START,
            status=ExecutionStatus.RUNNING,
            context=self.given,
            state={},
            takeovers=1,
            journal=list(self.journal.values()),
            signals=self.signals,
        )
        live, _ = take_over(owned, self.program)
        return live


def comparable(state: State) -> State:
    """Tokens as a set, because several may be woken at once. Whether one that has failed had been woken, and
    whether the failure might have passed, is of no use to anybody any more."""
    tokens = [token._replace(woken=False) if token.phase is Phase.FAILED else token for token in state.tokens]
    ending = state.ending
    if ending is not None:
        ending = replace(ending, failure=replace(ending.failure, retryable=False))
    return state._replace(tokens=tuple(sorted(tokens, key=lambda token: token[:2])), ending=ending)


@pytest.mark.parametrize("block", range(4))
def test_replaying_any_prefix_of_the_journal_gives_the_same_state(block: int) -> None:
    ended = 0
    for seed in range(block * GRAPHS // 4, (block + 1) * GRAPHS // 4):
        owner = Owner(seed)
        for _ in range(MOST_STEPS):
            if owner.live.state.finished:
                ended += 1
                break
            owner.step()
            found = owner.successor()
            assert comparable(found.state) == comparable(owner.live.state), f"seed {seed}"
            assert found.seq == owner.live.seq, f"seed {seed}"
    assert ended > GRAPHS // 8
