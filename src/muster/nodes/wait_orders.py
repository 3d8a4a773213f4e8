"""The order table of a wait_events node: from its config, as it stands in a definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from muster.engine.arrival_orders import Passage, depend_on_order, passages
from muster.engine.event_waits import Plan
from muster.expr import Scope, compile_template
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.event_wait_plan import plan_from
from muster.nodes.wait_events import enabled_events, places_of

# Five events have 326 ways at most; nobody reads more.
MOST_SHOWN = 400
_OF_THE_WAIT = ("aggregationStrategy", "onTimeout", "requiredEvents", "timeout")
_OF_AN_EVENT = ("required", "timeout")


@dataclass(frozen=True, slots=True)
class OrderTable:
    """`names`: under which name the context has each event's data. `left_off`: there are more passages."""

    plan: Plan
    names: Mapping[str, str]
    passages: tuple[Passage, ...]
    depends_on_order: bool
    left_off: bool


def order_table(config: JsonObject, data: JsonView, scope: Scope) -> OrderTable:
    """What comes of a wait with this config. Expressions are read from the scope. Raises `BadParameter`, or
    `ExpressionError`."""
    params = compile_template(_deciding(config)).resolve(scope)
    assert isinstance(params, dict), "compiled from an object"
    when = config.get("completeWhen")
    plan = plan_from(params, None if when is None else str(when), scope)
    found = list(islice(passages(plan, data), MOST_SHOWN + 1))
    return OrderTable(
        plan,
        places_of(config, plan.names),
        tuple(sorted(found[:MOST_SHOWN], key=_rank)),
        depend_on_order(found),
        len(found) > MOST_SHOWN,
    )


def _deciding(config: JsonView) -> JsonObject:
    """What decides when a wait goes on: where its events come from does not, and may not be known yet."""
    kept: JsonObject = {name: config[name] for name in _OF_THE_WAIT if name in config}
    events: list[Json] = [_bare(name, block) for name, block in enabled_events(config).items()]
    return {**kept, "events": events}


def _bare(name: str, block: JsonView) -> JsonObject:
    kept = {each: block[each] for each in _OF_AN_EVENT if each in block}
    return {"name": name, "source": "callback", **kept}


def _rank(passage: Passage) -> tuple[bool, int]:
    """What goes on by its events first, and the fewest of them first."""
    return passage.over_at is not None, len(passage.arrivals)
