"""A node's body for each item of a list: `on` and `forEach`, unfolded lazily and purely."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from muster.engine.journal import COMPENSATION
from muster.engine.view import Layered
from muster.expr import ExpressionError, Scope, Template, compile_template, to_text
from muster.model.json import Json, JsonObject
from muster.model.text import is_suitable

NOT_PARAMETERS = frozenset({"on", "forEach"})
OF_THE_LOOP = frozenset({"eval", "operation", "cases", "default", "concurrency", "batchSize"})
DEFAULT_CONCURRENCY = 16
DEFAULT_BATCH = 500
LONGEST_KEY = 255
# The journal's own: the visit itself, and its compensation.
NOT_AN_ITEM = ("", COMPENSATION)


@dataclass(frozen=True, slots=True)
class Item:
    """One element's share of the work. `params` None: no case fits it, so it is passed over; or, if there is
    a `problem`, its expressions cannot be computed."""

    key: str
    scope: Scope
    params: JsonObject | None
    problem: ExpressionError | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What is done with one element: parameters, or a further list with a body of its own."""

    params: Template
    on: Template | None = None
    item: Template | None = None
    decides: Template | None = None
    cases: Mapping[str, "Body"] = field(default_factory=dict)
    default: "Body | None" = None
    inner: "Body | None" = None
    concurrency: int = DEFAULT_CONCURRENCY
    batch: int = DEFAULT_BATCH


def compile_body(config: JsonObject) -> Body:
    """Read `on`, `forEach` and the parameters around them, once per version."""
    return _body(config, {})


def _body(config: JsonObject, around: JsonObject) -> Body:
    own = {**around, **{name: value for name, value in config.items() if name not in NOT_PARAMETERS}}
    each = config.get("forEach")
    on = compile_template(config["on"]) if "on" in config else None
    if not isinstance(each, dict):
        return Body(compile_template(own), on)
    if each.get("operation") == "SWITCH":
        return _switch(each, own, on)
    inner = {name: value for name, value in each.items() if name not in OF_THE_LOOP}
    return Body(
        compile_template({}),
        on,
        item=compile_template(each["eval"]) if "eval" in each else None,
        inner=_body(inner, own),
        concurrency=_positive(each.get("concurrency"), DEFAULT_CONCURRENCY),
        batch=_positive(each.get("batchSize"), DEFAULT_BATCH),
    )


def _switch(each: JsonObject, own: JsonObject, on: Template | None) -> Body:
    cases, default = each.get("cases"), each.get("default")
    return Body(
        compile_template({}),
        on,
        item=compile_template(each["eval"]) if "eval" in each else None,
        decides=compile_template(each.get("on")),
        cases={
            value: _body(case, own)
            for value, case in (cases.items() if isinstance(cases, dict) else ())
            if isinstance(case, dict)
        },
        default=_body(default, own) if isinstance(default, dict) else None,
        concurrency=_positive(each.get("concurrency"), DEFAULT_CONCURRENCY),
        batch=_positive(each.get("batchSize"), DEFAULT_BATCH),
    )


def _positive(given: Json, usual: int) -> int:
    return given if isinstance(given, int) and given > 0 else usual


def goes_over_a_list(body: Body) -> bool:
    return body.on is not None


def unfold(body: Body, scope: Scope, item_key: Template | None = None, prefix: str = "") -> Iterator[Item]:
    """The items, one at a time, so that a list of any length takes the memory of one of them.

    An object counts as one item and null as none. `item_key` names an item; where it gives nothing, its place
    does. What cannot be computed for one element is that item's problem. Raises `ExpressionError` only where
    there is no list at all.
    """
    if body.on is None:
        yield from _chosen(body, scope, item_key, prefix or "0")
        return
    for index, element in enumerate(_elements(body.on.resolve(scope))):
        inside, key = _with_item(scope, element, index), _under(prefix, str(index))
        try:
            if body.item is not None:
                inside = _with_item(scope, body.item.resolve(inside), index)
            if item_key is not None:
                key = _under(prefix, to_text(item_key.resolve(inside)) or str(index))
            yield from _chosen(body, inside, item_key, key)
        except ExpressionError as problem:
            yield Item(key, inside, None, problem)


def _under(prefix: str, own: str) -> str:
    """A key that the journal can hold and that is no other row's; or else its digest."""
    key = f"{prefix}/{own}" if prefix else own
    if len(key) <= LONGEST_KEY and key not in NOT_AN_ITEM and is_suitable(key):
        return key
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _chosen(body: Body, scope: Scope, item_key: Template | None, key: str) -> Iterator[Item]:
    if body.decides is not None:
        case = body.cases.get(to_text(body.decides.resolve(scope)), body.default)
        if case is None:
            yield Item(key, scope, None)
        else:
            yield from _inside(case, scope, item_key, key)
    elif body.inner is not None:
        yield from _inside(body.inner, scope, item_key, key)
    else:
        yield Item(key, scope, resolved(body, scope))


def resolved(body: Body, scope: Scope) -> JsonObject:
    """A body's own parameters."""
    params = body.params.resolve(scope)
    assert isinstance(params, dict), "parameters are compiled from an object"
    return params


def _inside(body: Body, scope: Scope, item_key: Template | None, key: str) -> Iterator[Item]:
    if body.on is None:
        yield from _chosen(body, scope, item_key, key)
    else:
        yield from unfold(body, scope, item_key, key)


def _elements(value: Json) -> list[Json]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _with_item(scope: Scope, element: Json, index: int) -> Scope:
    """What the element's own expressions see. `uuid()` gives each item its own."""
    identity = f"{scope.identity}/{index}"
    return replace(scope, identity=identity, root=Layered({"item": element, "index": index}, scope.root))
