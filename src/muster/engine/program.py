"""A version made ready to run: its graph, its nodes' bodies, its policies. Made once, shared by all runs."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from muster.definitions.durations import parse_duration
from muster.engine.dedupe import Dedupe, compile_dedupe
from muster.engine.graph import Graph, compile_graph
from muster.engine.items import Body, compile_body
from muster.engine.limits import Concurrency, compile_concurrency
from muster.engine.masking import reads_secrets
from muster.engine.retry import RetryPolicy
from muster.expr import Template, compile_template
from muster.expr.errors import ExpressionSyntaxError
from muster.expr.paths import PlainPath, context_path
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind, NodeType
from muster.model.workflow import Definition, Node

NETWORK_RETRY = RetryPolicy(max_attempts=3)
NO_RETRY = RetryPolicy()
READS_ALL = frozenset({"_nodes", "nodeOutputs", "workflow"})
MADE_UP_NAMES = ("#root", "#this")


@dataclass(frozen=True, slots=True)
class Step:
    """One node made ready: what it is, and what is done in it. `type` is its type's name as handlers are
    found by it."""

    node: Node
    type: str
    kind: NodeKind
    body: Body
    item_key: Template | None
    timeout: timedelta | None
    reads_secrets: bool = False
    reads: frozenset[str] | None = None
    dedupe: Dedupe | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """`asks` are the nodes that are not repeated unasked where they may have been done. `in_cache`: what
    nodes did may be lost with whoever did it, up to the last checkpoint or what a cache has. `only_computes`:
    nothing in it reaches outside, speaks or waits, and nobody is told of its steps. Of one that is `watched`,
    every visit that is done is an event. Whatever follows the nodes `computes_after` only computes."""

    graph: Graph
    steps: Mapping[str, Step]
    policies: Mapping[str, RetryPolicy]
    output: Template | None
    vars: JsonObject = field(default_factory=dict)
    search: tuple[PlainPath, ...] = ()
    workflow: str = ""
    asks: frozenset[str] = frozenset()
    concurrency: Concurrency | None = None
    in_cache: bool = False
    only_computes: bool = False
    watched: bool = False
    computes_after: frozenset[str] = frozenset()


def compile_program(definition: Definition, node_types: Mapping[str, NodeType]) -> Program:
    """Make a checked definition ready. What checking let through compiles."""
    nodes = tuple(_compensated(node, node_types[node.type.upper()]) for node in definition.nodes)
    definition = replace(definition, nodes=nodes)
    kinds = {node.id: node_types[node.type.upper()].kind for node in definition.nodes}
    steps = {node.id: _step(node, kinds[node.id]) for node in definition.nodes}
    computing = {node.id for node in nodes if _only_computes(node_types[node.type.upper()])}
    graph = compile_graph(definition)
    return Program(
        graph=graph,
        steps=steps,
        policies={node.id: _policy(node, node_types[node.type.upper()]) for node in definition.nodes},
        output=None if definition.output is None else compile_template(definition.output),
        vars=definition.vars,
        search=tuple(_paths(definition.search)),
        workflow=definition.key or definition.name or "",
        asks=frozenset(node_id for node_id, step in steps.items() if _asks(step)),
        concurrency=compile_concurrency(definition.concurrency),
        in_cache=definition.durability == "cache",
        only_computes=not definition.watch and len(computing) == len(nodes),
        watched=definition.watch,
        computes_after=frozenset(_followed_by(graph, computing)),
    )


def _compensated(node: Node, kind: NodeType) -> Node:
    """The node with what undoes it, if its config says that in the words of its type."""
    if node.compensate is not None or kind.compensation is None:
        return node
    return replace(node, compensate=kind.compensation(node.config))


def _followed_by(graph: Graph, computing: Set[str]) -> Iterator[str]:
    """The nodes from which no path leads to any other than these."""
    others = sum(1 << place for node_id, place in graph.position.items() if node_id not in computing)
    return (node_id for node_id, reached in graph.reach.items() if not reached & others)


def _only_computes(kind: NodeType) -> bool:
    return kind.kind in (NodeKind.START, NodeKind.PURE) and not kind.speaks


def _asks(step: Step) -> bool:
    return step.node.in_doubt == "ask" and step.kind is NodeKind.EFFECT


def _paths(names: Iterable[str]) -> Iterator[PlainPath]:
    """What was saved before paths were checked may have names that are none: nothing is found by them."""
    for name in names:
        with suppress(ExpressionSyntaxError):
            yield context_path(name)


def _step(node: Node, kind: NodeKind) -> Step:
    return Step(
        node=node,
        type=node.type.upper(),
        kind=kind,
        body=compile_body(node.config),
        item_key=None if node.item_key is None else compile_template(node.item_key),
        timeout=_duration(node.timeout),
        reads_secrets=kind is NodeKind.EFFECT and reads_secrets(node.config),
        reads=_reads(node) if kind is NodeKind.EFFECT else None,
        dedupe=compile_dedupe(node.dedupe) if kind is NodeKind.EFFECT else None,
    )


def _reads(node: Node) -> frozenset[str] | None:
    """The variables that an effect reads; None: any of them, as far as can be told. Of a list all has to be
    there before it begins."""
    names = compile_template(node.config).names
    if "on" in node.config or names & READS_ALL or any(word in str(node.config) for word in MADE_UP_NAMES):
        return None
    return names | {"item"}  # what several types of node read by default


def _policy(node: Node, kind: NodeType) -> RetryPolicy:
    usual, retry = NETWORK_RETRY if kind.kind is NodeKind.EFFECT else NO_RETRY, node.retry
    if retry is None:
        return usual if kind.attempts is None else RetryPolicy(kind.attempts(node.config))
    attempts, multiplier, on = retry.get("maxAttempts"), retry.get("multiplier"), retry.get("on")
    return RetryPolicy(
        max_attempts=attempts if isinstance(attempts, int) else NETWORK_RETRY.max_attempts,
        initial_delay=_seconds(retry.get("initialDelay"), usual.initial_delay),
        multiplier=float(multiplier) if isinstance(multiplier, int | float) else usual.multiplier,
        max_delay=_seconds(retry.get("maxDelay"), usual.max_delay),
        jitter=retry.get("jitter") is not False,
        on=frozenset(str(name) for name in on) if isinstance(on, list) else None,
    )


def _seconds(value: Json, usual: float) -> float:
    duration = _duration(value)
    return usual if duration is None else duration.total_seconds()


def _duration(value: Json) -> timedelta | None:
    return parse_duration(value) if isinstance(value, str | int | float) else None
