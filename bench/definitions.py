"""How long reading and checking a definition takes per node, and whether that stays flat as it grows.

python bench/definitions.py
"""

import json
import statistics
import time
from collections.abc import Callable

from muster.definitions.check import check
from muster.definitions.diagram import draw
from muster.definitions.render import Format, render
from muster.definitions.text import read
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.nodes import builtin, demo

SIZES = (10, 50, 100, 500)
ROUNDS = 7
CATALOGUE = Catalogue(builtin(), demo.QUERIES, demo.ACTIONS, demo.TEMPLATES)


def document(size: int) -> JsonObject:
    """A workflow of many kinds of nodes, with branches, joins, a loop and expressions in every node."""
    nodes: list[Json] = [_node(number, size) for number in range(size)]
    return {"name": f"Bench {size}", "nodes": nodes}


def _node(number: int, size: int) -> JsonObject:
    following = [f"n{after}" for after in (number + 1, number + 3) if after < size]
    routing: list[Json] = [{"type": "goto", "targetNodeId": target} for target in following]
    if number % 10 == 9:
        condition = f"#{{v{number - 1}.total > {number}}}"
        back, ahead = f"n{number - 5}", f"n{min(number + 1, size - 1)}"
        routing = [{"type": "conditional", "condition": condition, "trueNodeId": ahead, "falseNodeId": back}]
    return {"id": f"n{number}", **_KINDS[number % len(_KINDS)](number), "routing": routing}


_KINDS: tuple[Callable[[int], JsonObject], ...] = (
    lambda n: {
        "type": "QUERY",
        "config": {"prebuiltKey": "getNewStudents", "params": {"n": n, "a": "#{_vars.a}"}},
    },
    lambda n: {
        "type": "TRANSFORM",
        "config": {"transformations": [{"field": f"v{n}", "expression": f"#{{newStudents.size() + {n}}}"}]},
    },
    lambda n: {
        "type": "SEND_EMAIL",
        "config": {
            "on": "#{newStudents}",
            "forEach": {
                "operation": "SWITCH",
                "on": "#{item.days}",
                "cases": {"1": {"subject": f"Day {n} #{{item.name}}"}, "7": {"subject": "Week"}},
            },
        },
    },
    lambda n: {
        "type": "wait_events",
        "data": {
            "apiCall": {"url": f"https://example.org/{n}", "body": {"x": "@{_trigger.x}"}},
            "kafkaEvent": {"topic": f"topic.{n}"},
        },
    },
    lambda n: {"type": "delay", "config": {"duration": n + 1, "unit": "minutes"}},
)


def seconds(work: object, *arguments: object) -> float:
    """The median of several rounds."""
    assert callable(work)
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work(*arguments)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def measure(size: int) -> tuple[float, float, float]:
    """Seconds per node to read, to check and to draw."""
    text = json.dumps(document(size))
    checked = check(read(text), CATALOGUE)
    assert checked.definition is not None, checked.errors
    definition = checked.definition
    return (
        seconds(read, text) / size,
        seconds(lambda: check(read(text), CATALOGUE)) / size,
        seconds(lambda: render(draw(definition, CATALOGUE), Format.SVG)) / size,
    )


def main() -> None:
    measure(SIZES[0])  # schemas are compiled and expressions kept, as in a server that runs
    print(f"{'nodes':>6} {'read':>12} {'read + check':>14} {'draw as svg':>12}   (microseconds per node)")
    rows = {size: measure(size) for size in SIZES}
    for size, row in rows.items():
        print(f"{size:>6} {row[0] * 1e6:>12.1f} {row[1] * 1e6:>14.1f} {row[2] * 1e6:>12.1f}")
    ratios = [large / small for small, large in zip(rows[SIZES[0]], rows[SIZES[-1]], strict=True)]
    print(f"{SIZES[-1]}:{SIZES[0]:<3} {ratios[0]:>11.2f} {ratios[1]:>14.2f} {ratios[2]:>12.2f}   (1 is flat)")


if __name__ == "__main__":
    main()
