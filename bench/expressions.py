"""How fast compiled expressions are, beside jinja2's sandboxed native expressions of the same.

Run: `python bench/expressions.py`. Each figure is the best of several rounds; ratios come from the same run.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from jinja2.nativetypes import NativeEnvironment
from jinja2.sandbox import SandboxedEnvironment

from muster.expr import Scope, compile_expression, compile_template
from muster.model.json import JsonObject

GOAL = 10.0

CONTEXT: JsonObject = {
    "item": {"remainingDays": 5, "firstName": "Ada", "lastName": "Lovelace", "plan": {"price": 12.5}},
    "userCount": 120,
    "users": [{"id": number, "active": number % 2 == 0, "name": f"user {number}"} for number in range(20)],
}

# What is measured: ours, and the same for jinja2.
PAIRS = [
    ("item.remainingDays <= 7", "item.remainingDays <= 7"),
    ("userCount > 100", "userCount > 100"),
    ("item.firstName + ' ' + item.lastName", "item.firstName ~ ' ' ~ item.lastName"),
    ("item.plan.price * 2 > 20 and userCount != 0", "item.plan.price * 2 > 20 and userCount != 0"),
    ("users.?[active].![name]", "users | selectattr('active') | map(attribute='name') | list"),
]


class SandboxedNativeEnvironment(SandboxedEnvironment, NativeEnvironment):
    """Native values, in the sandbox."""


def calls_for(run: Callable[[], object], least: float = 0.01) -> int:
    """How many calls it takes to be told apart from noise."""
    calls = 1
    while timed(run, calls) < least:
        calls *= 2
    return calls


def timed(run: Callable[[], object], calls: int) -> float:
    """The processor's time for that many calls: other programs' time is not ours."""
    started = time.process_time()
    for _ in range(calls):
        run()
    return time.process_time() - started


def seconds_each(*runs: Callable[[], object], rounds: int = 15) -> list[float]:
    """The best time of one call of each. Rounds take turns, so that a slow moment hits all of them."""
    counted = [(run, calls_for(run)) for run in runs]
    laps = [[timed(run, calls) / calls for run, calls in counted] for _ in range(rounds)]
    return [min(times) for times in zip(*laps, strict=True)]


def compare(ours: str, theirs: str) -> list[float]:
    """Seconds for one evaluation of each; they must agree."""
    scope = Scope(CONTEXT, datetime.now(UTC))
    expression = compile_expression(ours)
    jinja = SandboxedNativeEnvironment().compile_expression(theirs)
    assert expression.evaluate(scope) == jinja(**CONTEXT), ours
    return seconds_each(lambda: expression.evaluate(scope), lambda: jinja(**CONTEXT))


def main() -> None:
    print(f"{'expression':46} {'ours':>9} {'jinja2':>9} {'ratio':>7}")
    ratios = []
    for ours, theirs in PAIRS:
        mine, other = compare(ours, theirs)
        ratios.append(other / mine)
        print(f"{ours:46} {mine * 1e6:6.2f} µs {other * 1e6:6.2f} µs {other / mine:6.1f}x")
    print(f"{PAIRS[0][0]}: {ratios[0]:.1f} times as fast (goal: {GOAL:.0f})")
    print_compiling()


def print_compiling() -> None:
    """What the first use of a text costs, and a template in full."""
    scope = Scope(CONTEXT, datetime.now(UTC))
    text = "Hello #{item.firstName}, your plan ends in #{item.remainingDays} days"
    template = compile_template(text)
    numbers = iter(range(10**9))
    fresh, resolved = seconds_each(
        lambda: compile_expression(f"item.remainingDays <= {next(numbers)}"), lambda: template.resolve(scope)
    )
    print(f"compiling `item.remainingDays <= n` anew: {fresh * 1e6:.1f} µs")
    print(f"a template with two expressions: {resolved * 1e6:.2f} µs")


if __name__ == "__main__":
    main()
