"""How a TRANSFORM computes: each field from the ones before it, on copies of what is there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from muster.definitions.variables import ALWAYS
from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.engine.view import Layered
from muster.expr import ExpressionError, Scope, Template, compile_template
from muster.expr.paths import plain_path
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.fields import Steps, field_paths, only_fields, with_field, without_fields
from muster.nodes.handling import context_of
from muster.nodes.resolved import BadParameter

_VARIABLE = re.compile(r"\s*[#@$]\{\s*#?([A-Za-z_]\w*)\s*\}\s*")
_NO_VARIABLES = ALWAYS | {"true", "false", "null", "root", "this"}
_NOT_THE_AUTHORS = ALWAYS - {"item", "index"}


def result_name(config: JsonView) -> str | None:
    """The context name of the result: `output`, else the variable that `on` is, and nothing more."""
    output, on = config.get("output"), config.get("on")
    if isinstance(output, str):
        return output
    found = _VARIABLE.fullmatch(on) if isinstance(on, str) else None
    return found[1] if found and found[1] not in _NO_VARIABLES else None


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    steps: Steps
    value: Template


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which fields stay. `keep` None: all of them."""

    keep: tuple[Steps, ...] | None
    remove: tuple[Steps, ...]

    def of(self, value: JsonObject) -> JsonObject:
        kept = value if self.keep is None else only_fields(value, self.keep)
        return without_fields(kept, self.remove)

    @property
    def is_made(self) -> bool:
        return self.keep is not None or bool(self.remove)


@dataclass(frozen=True, slots=True)
class Plan:
    """A config made ready. `output` is the context name of the result, if it has one."""

    fields: tuple[_Field, ...]
    on: Template | None
    output: str | None
    keep: Template
    remove: Template

    def choice(self, scope: Scope) -> _Choice:
        keep, remove = self.keep.resolve(scope), self.remove.resolve(scope)
        return _Choice(None if keep is None else field_paths(keep, "keep"), field_paths(remove, "remove"))


def plan_of(config: JsonObject) -> Plan:
    entries = config.get("transformations")
    rows = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return Plan(
        fields=tuple(_field(row) for row in rows),
        on=compile_template(config["on"]) if "on" in config else None,
        output=result_name(config),
        keep=compile_template(config.get("keep")),
        remove=compile_template(config.get("remove")),
    )


def _field(row: JsonObject) -> _Field:
    name = str(row["field"])
    return _Field(name, plain_path(name).steps, compile_template(row["expression"]))


class _Unfit(Exception):
    """A field cannot be computed: the failure says which, and why."""

    def __init__(self, type_: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(type_, message)


def transformed(plan: Plan, scope: Scope) -> Done | Failure:
    """What comes of it: in each item of a list, in an object, or in the context."""
    try:
        choice = plan.choice(scope)
        if plan.on is None:
            return _in_context(plan, choice, scope)
        return _on(plan.on.resolve(scope), plan, choice, scope)
    except _Unfit as unfit:
        return unfit.failure
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))


def _on(value: Json, plan: Plan, choice: _Choice, scope: Scope) -> Done:
    result: Json
    if value is None or isinstance(value, list):
        result = [
            choice.of(_item(element, index, plan.fields, scope, f"item {index}, "))
            for index, element in enumerate(value or ())
        ]
    else:
        result = choice.of(_item(value, 0, plan.fields, scope, ""))
    return Done(result, {plan.output: result} if plan.output else {})


def _item(element: Json, index: int, fields: Iterable[_Field], scope: Scope, place: str) -> JsonObject:
    """A copy of an object with the fields set. Of anything else nothing but the new fields can be kept."""
    is_object = isinstance(element, dict)
    result: JsonObject = element if isinstance(element, dict) else {}
    for position, field in enumerate(fields):
        root = Layered({"item": result if is_object else element, "index": index}, scope.root)
        inside = Scope(root, scope.now, f"{scope.identity}/{index}/{position}")
        result = _set(result, field, inside, place)
    return result


def _in_context(plan: Plan, choice: _Choice, scope: Scope) -> Done:
    before = context_of(scope)
    after, new = before, dict[str, Json]()
    for position, field in enumerate(plan.fields):
        root = Layered({"item": after}, Layered(new, scope.root))
        after = _set(after, field, Scope(root, scope.now, f"{scope.identity}/{position}"), "")
        name = str(field.steps[0])
        new = {**new, name: after[name]}
    if not choice.is_made:
        return Done(new, {plan.output: new} if plan.output else new)
    chosen = choice.of({name: value for name, value in after.items() if name not in _NOT_THE_AUTHORS})
    if plan.output:
        return Done(chosen, {plan.output: chosen})
    changes = _difference(before, chosen)
    return Done(changes, changes)


def _difference(before: JsonObject, after: JsonObject) -> JsonObject:
    """What is new or other, and null for what is gone: a name of the context stays, its value does not."""
    changes = {
        name: value for name, value in after.items() if name not in before or value is not before[name]
    }
    gone = [name for name in before if name not in after and name not in _NOT_THE_AUTHORS]
    return {**changes, **dict.fromkeys(gone)}


def _set(result: JsonObject, field: _Field, scope: Scope, place: str) -> JsonObject:
    try:
        return with_field(result, field.steps, field.value.resolve(scope))
    except ExpressionError as error:
        raise _Unfit("ExpressionError", f"{place}`{field.name}`: {error}") from None
    except BadParameter as bad:
        raise _Unfit("BadParameter", f"{place}`{field.name}`: {bad}") from None
