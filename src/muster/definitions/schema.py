"""Holds values against JSON Schemas, and says what is wrong in words for people.

A value that is one expression (`#{days}`) has its type only when it runs, so it fits everywhere; text with
expressions in it is text whatever they give. A schema that says `"x-literal": true` takes neither: what it
holds must be known before anything runs.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Protocol, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from muster.definitions.formats import FORMATS, OF_EXPRESSIONS, Flaw
from muster.definitions.pointers import Path
from muster.kit.names import did_you_mean
from muster.model.json import Json, JsonObject

Found = Iterator[ValidationError]


class Descends(Protocol):
    """The part of a validator that keywords use."""

    def is_type(self, instance: object, type: str) -> bool: ...

    def descend(
        self,
        instance: object,
        schema: object,
        path: str | int | None = None,
        schema_path: str | int | None = None,
    ) -> Iterable[ValidationError]: ...


Keyword = Callable[[Descends, Json, Json, JsonObject], Iterable[ValidationError]]

_WHOLE = re.compile(r"\s*[#@$]\{.*\}\s*", re.DOTALL)
_PARTLY = re.compile(r"(?<!\\)[#@$]\{")
_ABOUT_TEXT = frozenset({"enum", "const", "pattern", "format", "minLength", "maxLength"})
# These only hand a value on to other schemas, which say themselves whether they take expressions.
_HANDING_ON = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "if"})
_MOST = 200
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class _Because(Exception):
    """Carries a flaw through the library, which knows of messages only."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.message)
        self.flaw = flaw


def failures(schema: JsonObject, value: Json) -> list[tuple[Path, Flaw]]:
    """What is wrong with `value`, each with the path inside it: everything, as far as anyone would read."""
    found = [_simplest(error) for error in islice(_validator(schema).iter_errors(value), _MOST)]
    return [(tuple(error.absolute_path), _flaw(error)) for error in found]


def _flaw(error: ValidationError) -> Flaw:
    """What our own keywords say; for rarer ones, which a plug-in's schema may use, what the library says."""
    if isinstance(error.cause, _Because):
        return error.cause.flaw
    return Flaw("SCHEMA_FAILED", f"{error.message[:300]}.")


def _simplest(error: ValidationError) -> ValidationError:
    """Of alternatives that all failed, what the likeliest one lacks."""
    while error.context:
        inner = best_match(error.context)
        if inner is None:
            break
        error = inner
    return error


# The schema is kept beside its validator: while it is, no other can have its id.
_compiled: dict[int, tuple[JsonObject, Validator]] = {}
_MOST_COMPILED = 1000


def _validator(schema: JsonObject) -> Validator:
    known = _compiled.get(id(schema))
    if known is not None:
        return known[1]
    if len(_compiled) >= _MOST_COMPILED:
        _compiled.clear()
    validator: Validator = _Checker(schema)
    _compiled[id(schema)] = (schema, validator)
    return validator


def holds_expression(text: str) -> bool:
    """Whether a text has an expression in it, well formed or not."""
    return "{" in text and _PARTLY.search(text) is not None


def _guarded(keyword: str, judge: Keyword) -> Keyword:
    def judged(
        validator: Descends, wanted: Json, value: Json, schema: JsonObject
    ) -> Iterable[ValidationError]:
        if isinstance(value, str) and holds_expression(value) and not schema.get("x-literal"):
            about_expressions = keyword == "format" and wanted in OF_EXPRESSIONS
            if not about_expressions and (keyword in _ABOUT_TEXT or _WHOLE.fullmatch(value)):
                return ()
        return judge(validator, wanted, value, schema) or ()

    return judged


def _fails(code: str, message: str, path: Path = (), suggestion: str | None = None) -> ValidationError:
    return _failed(Flaw(code, message, suggestion), path)


def _failed(flaw: Flaw, path: Path = ()) -> ValidationError:
    return ValidationError(flaw.message, path=path, cause=_Because(flaw))


def _type(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    types = [wanted] if isinstance(wanted, str) else cast("list[str]", wanted)
    if not any(validator.is_type(value, each) for each in types):
        expected = listed([_TYPES[each] for each in types])
        yield _fails("WRONG_TYPE", f"This should be {expected}, not {shown(value)}.")


def _required(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    if isinstance(value, dict):
        for name in cast("list[str]", wanted):
            if name not in value:
                yield _fails("MISSING_FIELD", f"`{name}` is missing.")


def _additional(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    if not isinstance(value, dict):
        return
    known = cast("JsonObject", schema.get("properties", {}))
    for name, inner in value.items():
        if name in known:
            continue
        if wanted is False:
            meant = did_you_mean(name, known)
            yield _fails("UNKNOWN_FIELD", _no_field(name, known if meant is None else ()), (name,), meant)
        elif isinstance(wanted, dict):
            yield from validator.descend(inner, wanted, path=name)


def _no_field(name: str, known: Collection[str]) -> str:
    there = f": there are {listed([f'`{each}`' for each in known], 'and')}" if known else ""
    return f"`{name}` is not a field here{there}."


def _enum(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    allowed = cast("list[Json]", wanted)
    if not any(_same(value, each) for each in allowed):
        names = [each for each in allowed if isinstance(each, str)]
        yield _fails(
            "NOT_ALLOWED",
            f"{shown(value)} is not one of {listed([f'`{each}`' for each in allowed], 'and')}.",
            suggestion=did_you_mean(value, names) if isinstance(value, str) else None,
        )


def _const(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    if not _same(value, wanted):
        yield _fails("NOT_ALLOWED", f"This must be {shown(wanted)}, not {shown(value)}.")


def _same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _format(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    judge = FORMATS.get(cast("str", wanted))
    flaw = judge(value) if judge else None
    if flaw is not None:
        yield _failed(flaw)


def _pattern(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    if isinstance(value, str) and re.search(cast("str", wanted), value) is None:
        meaning = schema.get("description", f"text that matches `{wanted}`")
        yield _fails("WRONG_FORM", f"{shown(value)} does not fit: {meaning}")


def _bound(sentence: str, broken: Callable[[float, float], bool]) -> Keyword:
    def judge(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and broken(cast("float", value), cast("float", wanted)):
            yield _fails("OUT_OF_RANGE", f"{shown(value)} is {sentence} {wanted}.")

    return judge


def _length(sentence: str, kind: type, broken: Callable[[int, int], bool]) -> Keyword:
    def judge(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
        if isinstance(value, kind) and broken(len(cast("list[Json]", value)), cast("int", wanted)):
            yield _fails("OUT_OF_RANGE", sentence.format(wanted))

    return judge


def _any_of(validator: Descends, wanted: Json, value: Json, schema: JsonObject) -> Found:
    """None of the alternatives: said by the schema's own `x-otherwise`, else by the likeliest alternative."""
    context: list[ValidationError] = []
    for index, each in enumerate(cast("list[JsonObject]", wanted)):
        found = list(validator.descend(value, each, schema_path=index))
        if not found:
            return
        context.extend(found)
    otherwise = schema.get("x-otherwise")
    if isinstance(otherwise, str):
        yield _fails("MISSING_FIELD" if isinstance(value, dict) else "WRONG_TYPE", otherwise)
    else:
        yield ValidationError("no alternative fits", context=context)


_OWN: dict[str, Keyword] = {
    "type": _type,
    "required": _required,
    "additionalProperties": _additional,
    "enum": _enum,
    "const": _const,
    "format": _format,
    "pattern": _pattern,
    "minimum": _bound("less than", lambda value, limit: value < limit),
    "exclusiveMinimum": _bound("not more than", lambda value, limit: value <= limit),
    "maximum": _bound("more than", lambda value, limit: value > limit),
    "minItems": _length("At least {} are needed.", list, lambda size, limit: size < limit),
    "maxItems": _length("At most {} are allowed.", list, lambda size, limit: size > limit),
    "minLength": _length(
        "This may not be shorter than {} characters.", str, lambda size, limit: size < limit
    ),
    "maxLength": _length("This may not be longer than {} characters.", str, lambda size, limit: size > limit),
    "minProperties": _length("At least {} are needed.", dict, lambda size, limit: size < limit),
    "anyOf": _any_of,
}

_Checker = extend(  # type: ignore[no-untyped-call]  # the stubs leave it untyped
    Draft202012Validator,
    {
        keyword: cast("Keyword", _OWN.get(keyword, judge))
        if keyword in _HANDING_ON
        else _guarded(keyword, cast("Keyword", _OWN.get(keyword, judge)))
        for keyword, judge in Draft202012Validator.VALIDATORS.items()
    },
)


def listed(words: list[str], last: str = "or") -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def shown(value: Json) -> str:
    """A value in a sentence, at a length that a sentence can bear."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"`{value[:57]}…`" if len(value) > 60 else f"`{value}`"
        case int() | float():
            return f"{value}"
        case list():
            return "a list"
        case dict():
            return "an object"
