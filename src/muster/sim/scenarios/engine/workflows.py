"""Random workflows: chains with forks, joins, diamonds and loops, of all kinds of nodes."""

from datetime import timedelta
from random import Random

from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node
from muster.nodes.sub_workflow import Startable
from muster.sim.world import current_process

ROUNDS = 2
CHILD_NODES = ("first", "told", "rest")
KINDS = {
    "SET": NodeKind.PURE,
    "TELL": NodeKind.EFFECT,
    "SLEEP": NodeKind.WAIT,
    "ASK": NodeKind.WAIT,
    "CALL": NodeKind.WAIT,
    "APPROVAL": NodeKind.WAIT,
    "KILL": NodeKind.EFFECT,
}
TYPES = {name: NodeType(name, kind, "", name, "", {}) for name, kind in KINDS.items()}


# --- nodes that need nothing of the world -----------------------------------------------------------------


def routed(call: Call, **changes: Json) -> JsonObject:
    return {**ways_on(call.node_id, call.visit), **changes}


def ways_on(node: str, visit: int) -> JsonObject:
    """What the edges after a node ask for: to go round again, a few times; and which of two ways to go."""
    return {f"c_{node}": visit < ROUNDS, f"s_{node}": 1 + visit % 2}


def set_(config: JsonObject, call: Call) -> Done | Failure:
    count = call.scope.root["n"]
    assert isinstance(count, int)
    changes = routed(call, n=count + 1)
    return Done(changes, changes)


def sleep(params: JsonObject, call: Call) -> Outcome:
    if call.woken:
        return Done({}, routed(call))
    seconds = params["seconds"]
    assert isinstance(seconds, int | float)
    return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now + timedelta(seconds=seconds))


def ask(params: JsonObject, call: Call) -> Outcome:
    if call.woken:
        return Done({"answer": call.answer}, routed(call))
    return Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_TASK, None)


def given(definition: Definition) -> JsonObject:
    """What an execution is started with: a count, and nothing that any route asks for."""
    return {"n": 0, **{f"{kind}_{node.id}": None for node in definition.nodes for kind in "cs"}}


async def kill(params: JsonObject, call: Call) -> Done | Failure:
    """Bring down whoever runs it."""
    process = current_process()
    assert process is not None, "effects are an instance's"
    process.crash()
    return Failure("Dead", "nobody hears this")


class TheChild:
    """The one workflow that `CALL` nodes start."""

    def __init__(self, version_id: int) -> None:
        self._version_id = version_id

    async def find(self, institute_id: str, workflow: str, version: int | None) -> Startable | Failure:
        return Startable("w", self._version_id, None)


def child_definition(chance: Random) -> Definition:
    """A few steps, which may fail for good. What it comes to says nothing that routes of its parent ask."""
    told = Node("told", "TELL", _random_call(chance), retry=_random_retry(chance))
    rest = Node("rest", "SLEEP", {"seconds": chance.choice([0.3, 1.5])})
    first = Node("first", "SET", {}, is_start=True)
    edges = (Edge("first", "told"), Edge("told", "rest"))
    return Definition("child", (first, told, rest), edges, output={"child": "#{n}"})


def culprit_definition() -> Definition:
    """It comes a step far, and brings down whoever drives it on."""
    nodes = (Node("first", "TELL", {}, is_start=True), Node("kill", "KILL", {}), Node("never", "SET", {}))
    return Definition("culprit", nodes, (Edge("first", "kill"), Edge("kill", "never")))


# --- graphs -----------------------------------------------------------------------------------------------


def random_definition(chance: Random) -> Definition:
    count = chance.randint(2, 7)
    names = [f"n{place}" for place in range(count)]
    undoable = chance.choice([0.0, 0.3, 1.0])
    nodes = tuple(_random_node(chance, name, names, undoable) for name in names)
    edges = [
        edge
        for place, name in enumerate(names[1:], start=1)
        for edge in _ways_to(chance, names[chance.randrange(place)], name)
    ]
    pairs = [sorted(chance.sample(range(count), 2)) for _ in range(chance.randint(0, 2))]
    edges += [Edge(names[one], names[two]) for one, two in pairs]
    if chance.random() < 0.3:
        source, target = names[-1], names[chance.randrange(count)]
        edges.append(Edge(source, target, EdgeType.CONDITIONAL, condition=f"#{{c_{source}}}", value=True))
    concurrency: JsonObject | None = {"limit": 2} if chance.random() < 0.25 else None
    return Definition("random", nodes, tuple(edges), concurrency=concurrency)


def _ways_to(chance: Random, source: str, target: str) -> list[Edge]:
    if chance.random() < 0.8:
        return [Edge(source, target)]
    value = chance.choice([1, 2])
    return [Edge(source, target, EdgeType.SWITCH, expression=f"#{{s_{source}}}", value=value)]


def _random_node(chance: Random, name: str, names: list[str], undoable: float) -> Node:
    join = chance.choices([Join.ALL, Join.EACH], [9, 1])[0]
    match chance.choice(["SET", "TELL", "TELL", "TELL", "EACH", "SLEEP", "ASK", "CALL", "APPROVAL"]):
        case "TELL" | "EACH" as kind:
            once = kind == "TELL" and chance.random() < 0.3
            config = _random_list(chance) if kind == "EACH" else _random_call(chance)
            return Node(
                name,
                "TELL",
                {"once": True} if once else config,
                is_start=name == "n0",
                join=join,
                in_doubt="ask" if once else None,
                retry=_random_retry(chance),
                timeout=chance.choice([None, None, "PT2S"]),
                on_error=_random_on_error(chance, names[names.index(name) + 1 :]),
                compensate={"type": "TELL", "config": {"undo": True}} if chance.random() < undoable else None,
            )
        case "SLEEP":
            config = {"seconds": chance.choice([0.3, 1.5, 2.5])}
            return Node(name, "SLEEP", config, is_start=name == "n0", join=join)
        case "APPROVAL":
            timeout: JsonObject = {"timeout": "PT3S", "onTimeout": "approve"} if chance.random() < 0.5 else {}
            config = {"assignees": ["somebody"], **timeout}
            return Node(name, "APPROVAL", config, is_start=name == "n0", join=join)
        case "CALL":
            on_error = _random_on_error(chance, names[names.index(name) + 1 :])
            config = _random_child(chance)
            return Node(name, "CALL", config, is_start=name == "n0", join=join, on_error=on_error)
        case kind:
            return Node(name, kind, {}, is_start=name == "n0", join=join)


def _random_on_error(chance: Random, later: list[str]) -> Json:
    """Errors lead forwards: one that came round again would never end."""
    elsewhere: JsonObject | None = {"goto": chance.choice(later)} if later else None
    return chance.choice([None, None, "continue", elsewhere])


def _random_call(chance: Random) -> JsonObject:
    return {"refuse": True} if chance.random() < 0.1 else {}


def _random_list(chance: Random) -> JsonObject:
    """Three items, of which one may be refused for good."""
    refuse = "#{item == 2}" if chance.random() < 0.2 else False
    on_error = chance.choice(["collect", "continue", "stop"])
    return {"on": "#{{1, 2, 3}}", "refuse": refuse, "onItemError": on_error}


def _random_child(chance: Random) -> JsonObject:
    """One child, or three of which two run at once; some are not waited for long enough."""
    started: JsonObject = {"n": 0, **{f"{kind}_{name}": None for name in CHILD_NODES for kind in "cs"}}
    config: JsonObject = {"workflow": "child", "input": started}
    if chance.random() < 0.2:
        config["timeout"] = "PT2S"
    if chance.random() < 0.5:
        return config
    on_error = chance.choice(["collect", "continue", "stop"])
    return {**config, "on": "#{{1, 2, 3}}", "forEach": {"concurrency": 2}, "onItemError": on_error}


def _random_retry(chance: Random) -> JsonObject:
    """Patient enough for any storm. Delays of over a second are durable timers."""
    return {"maxAttempts": 100, "initialDelay": chance.choice([0.1, 1.5]), "maxDelay": 2, "jitter": False}
