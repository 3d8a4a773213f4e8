"""A node's config: where each part of it was written, what it comes to, and whether its type takes it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.definitions.pointers import Path, child, dotted, steps
from muster.definitions.problems import Place, Problems
from muster.definitions.schema import holds_expression
from muster.definitions.shapes import TYPE_NAMES
from muster.expr import ExpressionError, compile_condition, compile_template
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue, NodeType
from muster.model.problems import AuthorError, Problem


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a config comes from: a pointer to the node's own, and to the template's name if it has one.

    `own` is the node's own config where it was written as an object; a JSON text has no places of its own.
    """

    pointer: str
    own: JsonObject | None
    template: str | None = None

    def __call__(self, path: Path) -> tuple[str, str]:
        if self.own is not None and _reaches(self.own, path):
            return child(self.pointer, *path), ""
        inside = f"`{dotted(path)}`: " if path else ""
        if self.own is not None and self.template is None:
            return child(self.pointer, *path[:-1]), inside
        return self.template or self.pointer, inside


def _reaches(value: Json, path: Path) -> bool:
    for step in path:
        match value:
            case dict() if isinstance(step, str) and step in value:
                value = value[step]
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case _:
                return False
    return True


@dataclass(frozen=True, slots=True)
class Own:
    """What a node itself says its config is. `value` None: it says nothing, or nothing that can be read."""

    value: JsonObject | None
    origin: Origin
    unreadable: bool = False


def read_own(
    fields: JsonObject, names: tuple[str, ...], pointer: str, limits: Limits, problems: Problems
) -> Own:
    """The config under whichever of its names it was given; twice is an error."""
    given = [name for name in names if fields.get(name) is not None]
    for name in given[1:]:
        problems.error("GIVEN_TWICE", child(pointer, name), f"`{given[0]}` and `{name}` name the same thing.")
    if not given:
        return Own(None, Origin(pointer, None))
    value, at = fields[given[0]], child(pointer, given[0])
    if isinstance(value, dict):
        return Own(value, Origin(at, value))
    parsed = _from_text(value, at, limits, problems)
    return Own(parsed, Origin(at, None), unreadable=parsed is None)


def _from_text(text: Json, pointer: str, limits: Limits, problems: Problems) -> JsonObject | None:
    if not isinstance(text, str):
        return None
    try:
        value = read_json(text, limits)
    except AuthorError as error:
        for found in error.problems:
            problems.error("INVALID_JSON", pointer, found.message, column=found.column)
        return None
    if not isinstance(value, dict):
        problems.error("WRONG_TYPE", pointer, "The JSON in this text should be an object.")
        return None
    return value


def node_type(fields: JsonObject, pointer: str, catalogue: Catalogue, problems: Problems) -> NodeType | None:
    """The type that a node names, in any spelling; None if it names none, or one that does not exist."""
    given = [name for name in TYPE_NAMES if isinstance(fields.get(name), str)]
    if not given:
        return None
    text, at = cast("str", fields[given[0]]), child(pointer, given[0])
    if len(given) > 1 and str(fields[given[1]]).upper() != text.upper():
        problems.error("GIVEN_TWICE", child(pointer, given[1]), f"`{given[0]}` says `{text}`.")
    found = catalogue.node_types.get(text.upper())
    if found is None:
        known = [each.name for each in catalogue.node_types.values()]
        problems.error(
            "UNKNOWN_NODE_TYPE", at, f"There is no node type `{text}`.", problems.suggest(text, known)
        )
    return found


@dataclass(frozen=True, slots=True)
class Uses:
    """A name that an expression reads, and where that expression was written."""

    name: str
    pointer: str


def check_config(
    type_: NodeType, config: JsonObject, origin: Origin, catalogue: Catalogue, problems: Problems
) -> Iterator[Uses]:
    """Note all that is wrong with a config, and give the names that its expressions read."""
    accepted = problems.hold(config, type_.schema, origin)
    _check_names(type_, config, origin, catalogue, problems)
    if accepted:
        for problem in type_.check(config):
            _place(problem, origin, problems)
    return check_templates(config, origin, problems)


def _place(problem: Problem, origin: Origin, problems: Problems) -> None:
    named = steps(problem.pointer)
    path: Path = tuple(int(step) if re.fullmatch(r"[0-9]+", step) else step for step in named)
    pointer, before = origin(path) if origin(path)[1] == "" else origin(tuple(named))
    problems.add(
        Problem(
            problem.code,
            pointer,
            before + problem.message,
            problem.level,
            problem.suggestion,
            problem.line,
            problem.column,
        )
    )


def _check_names(
    type_: NodeType, config: JsonObject, origin: Origin, catalogue: Catalogue, problems: Problems
) -> None:
    """Queries and actions are registered, never written into a workflow: what a config names must exist."""
    for field, schema in cast("dict[str, JsonObject]", type_.schema.get("properties", {})).items():
        value = config.get(field)
        match schema.get("format"):
            case "query-key":
                known, code, what = frozenset(catalogue.queries), "UNKNOWN_QUERY", "query"
            case "action-type":
                known, code, what = catalogue.actions, "UNKNOWN_ACTION", "action"
            case _:
                continue
        if isinstance(value, str) and value not in known:
            pointer, before = origin((field,))
            message = f"{before}There is no {what} `{value}`."
            problems.error(code, pointer, message, problems.suggest(value, known))


def check_templates(value: Json, place: Place, problems: Problems, path: Path = ()) -> Iterator[Uses]:
    """The names that a value's expressions read; those that do not parse become problems.

    Must be exhausted: it finds problems as it goes.
    """
    if isinstance(value, str):
        if holds_expression(value):
            yield from _names(value, place, problems, path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from check_templates(inner, place, problems, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from check_templates(inner, place, problems, (*path, index))


def _names(text: str, place: Place, problems: Problems, path: Path) -> Iterator[Uses]:
    pointer, before = place(path)
    try:
        names = compile_template(text).names
    except ExpressionError as error:
        problems.error("INVALID_EXPRESSION", pointer, before + error.message, column=error.column)
        return
    for name in sorted(names):
        yield Uses(name, pointer)


def condition_names(text: str, pointer: str) -> list[Uses]:
    """The names that a condition reads; none if it does not parse, which its schema has then said."""
    try:
        return [Uses(name, pointer) for name in sorted(compile_condition(text).names)]
    except ExpressionError:
        return []
