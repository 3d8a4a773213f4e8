"""A plug-in with one trivial durable step, for the benchmarks of the engine."""

from muster.plugin import Call, Done, JsonObject, NodeKind, NodeType, Registry

NO_CONFIG: JsonObject = {"type": "object", "properties": {}}
STEP = NodeType("BENCH_STEP", NodeKind.EFFECT, "Benchmarks", "Step", "Adds one.", NO_CONFIG)
FIVE_STEPS: JsonObject = {
    "workflow": {
        "name": "Five steps",
        "key": "five-steps",
        "nodes": [{"id": f"step{number}", "type": "BENCH_STEP", "config": {}} for number in range(5)],
    }
}


async def step(params: JsonObject, call: Call) -> Done:
    number = call.scope.root["number"]
    assert isinstance(number, int)
    return Done({"number": number + 1}, {"number": number + 1})


def register(registry: Registry) -> None:
    registry.node(STEP, step)
