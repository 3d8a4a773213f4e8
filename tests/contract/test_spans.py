"""What executions come to as spans, told to OpenTelemetry's own library."""

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from engine_house import House, Told, chain, node
from muster.app.telemetry import Telemetry
from muster.engine.handlers import Call, Done
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution
from muster.engine.state import Failure
from muster.engine.tracing import own_trace_id
from muster.kit.traceparent import TraceParent, read_traceparent
from muster.model.json import JsonObject
from muster.store.database import Database

# What is told is decided above the store; that the trace is kept, `test_carried_traces.py` says.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

CALLER = TraceParent("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True)


class Traced:
    """Houses on one database whose spans are kept."""

    def __init__(self, database: Database) -> None:
        self.exporter = InMemorySpanExporter()
        self._database = database

    def house(self, name: str = "here", told: Told | None = None) -> House:
        tracer = Telemetry(SimpleSpanProcessor(self.exporter), name)
        return House(self._database, told or Told(), name, tracer=tracer)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        found = self.exporter.get_finished_spans()
        assert len({span.name for span in found}) == len(found), "each is told once"
        return {span.name: span for span in found}


@pytest.fixture
def traced(database: Database) -> Traced:
    return Traced(database)


def ids(span: ReadableSpan) -> tuple[str, str, str | None]:
    """Its trace, its own id, and that of its parent."""
    assert span.context is not None
    parent = None if span.parent is None else format_span_id(span.parent.span_id)
    return format_trace_id(span.context.trace_id), format_span_id(span.context.span_id), parent


async def run(house: House, trace: str | None = None, **context: Any) -> str:
    owner = house.instance.name.owner
    new = NewExecution(house.ids.new(), "w1", 1, "", owner, context, house.clock.now(), trace=trace)
    await house.instance.start(new)
    await house.instance.ended(new.id)
    return new.id


async def test_nodes_are_spans_below_their_execution_and_that_below_the_caller(traced: Traced) -> None:
    house = traced.house()
    await house.define(chain(node("a"), node("b", "SET", config={"n": 1})))
    execution = await run(house, str(CALLER))
    whole, a, b = (traced.spans[name] for name in ("chain", "a", "b"))
    assert {ids(span)[0] for span in (whole, a, b)} == {CALLER.trace_id}
    assert ids(whole)[2] == CALLER.span_id
    assert {ids(a)[2], ids(b)[2]} == {ids(whole)[1]}
    assert (whole.kind, a.kind, b.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL)
    assert dict(a.attributes or {}) == {
        "muster.execution.id": execution,
        "muster.workflow.id": "w1",
        "muster.workflow.key": "chain",
        "muster.node.id": "a",
        "muster.node.type": "TELL",
        "muster.node.visit": 1,
        "muster.node.attempt": 1,
        "muster.node.status": "completed",
    }
    assert a.resource.attributes["service.name"] == "muster"
    assert a.resource.attributes["service.instance.id"] == "here"
    assert (whole.attributes or {})["muster.execution.status"] == "COMPLETED"
    for span in (a, b):
        assert (
            (whole.start_time or 0) <= (span.start_time or 0) <= (span.end_time or 0) <= (whole.end_time or 0)
        )


async def test_an_execution_of_no_trace_is_one_of_its_own(traced: Traced) -> None:
    house = traced.house()
    await house.define(chain(node("a", "SET", config={"n": 1})))
    execution = await run(house)
    assert {ids(span)[0] for span in traced.spans.values()} == {own_trace_id(execution)}
    assert ids(traced.spans["chain"])[2] is None


async def test_a_wait_that_ends_on_another_instance_is_one_span_of_the_same_trace(traced: Traced) -> None:
    definition = chain(node("a"), node("b", "SLEEP", config={"seconds": 60}), node("c"))
    one, other = traced.house("one"), traced.house("other")
    await one.define(definition)
    await other.define_again(definition)
    execution = await run(one, str(CALLER))
    assert list(traced.spans) == ["a"], "what is not over is not told"
    await other.pass_time(seconds=61)
    await other.instance.take_due()
    await other.instance.ended(execution)
    spans = traced.spans
    assert list(spans) == ["a", "b", "c", "chain"]
    assert {ids(span)[0] for span in spans.values()} == {CALLER.trace_id}
    assert {ids(spans[name])[2] for name in "abc"} == {ids(spans["chain"])[1]}
    told_by = {name: span.resource.attributes["service.instance.id"] for name, span in spans.items()}
    assert told_by == {"a": "one", "b": "other", "c": "other", "chain": "other"}


async def test_what_leaves_a_node_names_the_nodes_span(traced: Traced) -> None:
    sent: list[TraceParent | None] = []

    async def send(params: JsonObject, call: Call) -> Done:
        sent.append(read_traceparent(call.traceparent))
        return Done()

    house = traced.house()
    house.effects["TELL"] = send
    await house.define(chain(node("a"), node("b", config={"on": "#{list}", "forEach": {"say": "#{item}"}})))
    await run(house, str(CALLER), list=[1, 2])
    of_a, of_b = ids(traced.spans["a"])[1], ids(traced.spans["b"])[1]
    assert [each and each.span_id for each in sent] == [of_a, of_b, of_b]
    assert {each and (each.trace_id, each.sampled) for each in sent} == {(CALLER.trace_id, True)}


async def test_a_failure_sets_the_status_and_tells_its_kind_alone(traced: Traced) -> None:
    told = Told(answers=[Failure("HttpError", "hunter2 was refused by the body")])
    house = traced.house(told=told)
    await house.define(chain(node("a", config={"say": "hunter2"})))
    await run(house, secret="hunter2")
    for span in traced.spans.values():
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "HttpError"
        assert "hunter2" not in span.to_json()


async def test_attempts_are_one_span(traced: Traced) -> None:
    told = Told(answers=[Failure("HttpError", "once more", retryable=True)])
    house = traced.house(told=told)
    await house.define(chain(node("a", retry={"maxAttempts": 2, "initialDelay": 0.01})))
    await run(house)
    span = traced.spans["a"]
    assert (span.attributes or {})["muster.node.attempt"] == 2
    assert span.status.status_code is StatusCode.UNSET


async def test_undoing_is_a_span_of_its_own_and_what_it_sends_is_below_it(traced: Traced) -> None:
    sent: dict[object, TraceParent | None] = {}

    async def send(params: JsonObject, call: Call) -> Done | Failure:
        sent[params["say"]] = read_traceparent(call.traceparent)
        return Failure("HttpError", "no") if params["say"] == "b" else Done()

    house = traced.house()
    house.effects["TELL"] = send
    undo: JsonObject = {"type": "TELL", "config": {"say": "undo"}}
    await house.define(chain(node("a", compensate=undo), node("b")))
    await run(house)
    done, undone = traced.spans["a"], traced.spans["undo a"]
    assert ids(done)[2] == ids(undone)[2] == ids(traced.spans["chain"])[1]
    assert (undone.attributes or {})["muster.node.status"] == "compensated"
    told = {say: each.span_id for say, each in sent.items() if each is not None}
    assert (told["a"], told["undo"]) == (ids(done)[1], ids(undone)[1])


async def test_a_wait_that_is_given_up_is_told_with_its_execution(traced: Traced) -> None:
    house = traced.house()
    await house.define(chain(node("a", "ASK", config={})))
    execution = await run(house)
    await house.signal(execution, SignalKind.CANCEL, {})
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert (traced.spans["a"].attributes or {})["muster.node.status"] == "cancelled"
    assert (traced.spans["chain"].attributes or {})["muster.execution.status"] == "CANCELLED"


@pytest.mark.parametrize(
    ("sampler", "trace"),
    [("always_off", None), ("parentbased_always_on", str(CALLER._replace(sampled=False)))],
)
async def test_what_is_not_sampled_is_not_told_and_says_so_to_others(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, sampler: str, trace: str | None
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    house, sent = traced.house(), list[str | None]()

    async def send(params: JsonObject, call: Call) -> Done:
        sent.append(call.traceparent)
        return Done()

    house.effects["TELL"] = send
    await house.define(chain(node("a")))
    await run(house, trace)
    assert traced.spans == {}
    assert [str(each)[-3:] for each in sent] == ["-00"]


async def test_without_a_tracer_nothing_is_asked(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is off costs nothing: no function of it is called, for whatever runs."""

    def called(*_: object) -> None:
        raise AssertionError("nobody wants spans")

    modules: list[tuple[str, Callable[..., None]]] = [
        ("muster.engine.spans.trace_of", called),
        ("muster.engine.tracing.trace_of", called),
        ("muster.engine.tracing.span_id", called),
        ("muster.engine.spans.SpanObserver.progressed", called),
    ]
    for place, instead in modules:
        monkeypatch.setattr(place, instead)
    house = House(database, Told())
    await house.define(chain(node("a"), node("b", "SLEEP", config={"seconds": 60}), node("c")))
    execution = await run(house, str(CALLER))
    await house.pass_time(seconds=61)
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
