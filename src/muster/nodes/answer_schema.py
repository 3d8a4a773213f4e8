"""Whether an answer is as its JSON Schema says. Nothing is fetched, and patterns run in linear time."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from muster.definitions.pointers import child
from muster.expr import ExpressionError
from muster.expr.patterns import matches
from muster.model.json import Json, JsonObject, JsonView
from muster.model.problems import Problem
from muster.nodes.resolved import BadParameter

MOST_FAULTS = 100


def _finds(pattern: str, text: str) -> bool:
    try:
        return matches(text, f"(?s:.*)(?:{pattern})(?s:.*)")
    except ExpressionError:
        raise BadParameter("`schema` holds a pattern that cannot be used") from None


def _pattern(_: Validator, pattern: str, value: object, __: JsonObject) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _finds(pattern, value):
        yield ValidationError("does not match the pattern")


def _pattern_properties(
    validator: Validator, patterns: Mapping[str, Json], value: object, _: JsonObject
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, schema in patterns.items():
        for name in value:
            if _finds(pattern, name):
                yield from _below(validator, value[name], schema, name, pattern)


def _additional_properties(
    validator: Validator, additional: Json, value: object, schema: JsonObject
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    names = _not_named(value, schema.get("properties"), schema.get("patternProperties"))
    if additional is False:
        if any(True for _ in names):
            yield ValidationError("has more than it may")
        return
    for name in names:
        yield from _below(validator, value[name], additional, name, None)


def _not_named(names: Iterable[str], properties: Json, patterns: Json) -> Iterator[str]:
    known = properties if isinstance(properties, dict) else {}
    described = patterns if isinstance(patterns, dict) else {}
    for name in names:
        if name not in known and not any(_finds(pattern, name) for pattern in described):
            yield name


def _below(
    validator: Validator, value: object, schema: Json, name: str, rule: str | None
) -> Iterator[ValidationError]:
    found: Iterator[ValidationError] = validator.descend(  # type: ignore[attr-defined]  # not in the protocol
        value, schema, path=name, schema_path=rule
    )
    yield from found


_Validator = extend(  # type: ignore[no-untyped-call]  # the stubs leave it untyped
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    },
)


def fault_of(schema: Json, value: Json) -> str | None:
    """Where the value does not fit and which rule it breaks, without the value itself; None: it fits.

    It takes as long as the value is large. Raises `BadParameter` for a schema that is none.
    """
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise BadParameter("`schema` is no JSON Schema")
    try:
        found = _first_fault(schema, value)
    except (SchemaError, Unresolvable, RecursionError):
        raise BadParameter("`schema` is no JSON Schema that can be used") from None
    if found is None:
        return None
    place = "/".join(str(step) for step in found.absolute_path)
    return f"`/{place}` breaks the rule `{found.validator or 'false'}`"


def schemas_that_fail(config: JsonView, *names: str) -> list[Problem]:
    """What is wrong with the JSON Schemas and AsyncAPI documents of messages that a node's config writes out
    under these names."""
    problems = []
    for name in names:
        given = config.get(name)
        if not isinstance(given, dict):
            continue
        if given.get("type") == "ASYNCAPI":
            problems += _document_flaws(given, child("", name))
        if given.get("type") != "JSON_SCHEMA":
            continue
        written = given.get("schema")
        if isinstance(written, dict) and not _is_computed(written):
            problems += _flaws(written, child("", name, "schema"))
        elif written is None and "file" not in given:
            message = "A JSON Schema is written out as `schema`, or named as a `file`."
            problems.append(Problem("MISSING_FIELD", child("", name), message))
    return problems


def _document_flaws(given: JsonObject, pointer: str) -> list[Problem]:
    document = given.get("document")
    if document is None and "file" not in given:
        message = "An AsyncAPI document is written out as `document`, or named as a `file`."
        return [Problem("MISSING_FIELD", pointer, message)]
    if not isinstance(document, dict):  # what is a text is read when it is needed
        return []
    version = document.get("asyncapi")
    if isinstance(version, str) and version.startswith(("2.", "3.")):
        return []
    message = "It is no AsyncAPI document of version 2 or 3."
    return [Problem("INVALID_VALUE", child(pointer, "document"), message)]


def _is_computed(schema: JsonObject) -> bool:
    """Whether it is known only when it runs."""
    return any(mark in json.dumps(schema) for mark in ("#{", "@{"))


def _flaws(schema: JsonObject, pointer: str) -> list[Problem]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as flaw:
        place = child("", *flaw.absolute_path)
        message = f"It is no JSON Schema: `{place or '/'}` breaks the rule `{flaw.validator}`."
        return [Problem("INVALID_VALUE", f"{pointer}{place}", message)]
    except RecursionError:
        return [Problem("INVALID_VALUE", pointer, "It is nested too deep for a JSON Schema.")]
    return []


def faults_of(schema: JsonObject, value: Json) -> list[Problem]:
    """Everything about the value that does not fit, each by its place; nothing: it fits. Raises
    `BadParameter` for a schema that is none."""
    try:
        found = list(islice(_checking(json.dumps(schema)).iter_errors(value), MOST_FAULTS))
    except (SchemaError, Unresolvable, RecursionError):
        raise BadParameter("the form is no JSON Schema that can be used") from None
    return [problem for fault in found for problem in _problems(fault)]


def _problems(fault: ValidationError) -> Iterator[Problem]:
    place, rule = child("", *fault.absolute_path), fault.validator
    if rule == "required" and isinstance(fault.instance, dict) and isinstance(fault.validator_value, list):
        for name in fault.validator_value:
            if name not in fault.instance:
                yield Problem("MISSING", child(place, name), f"The field `{name}` is missing.")
    elif rule in ("type", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "format"):
        wanted = json.dumps(fault.validator_value)
        yield Problem("INVALID_VALUE", place, f"It breaks the rule `{rule}`: {wanted}.")
    else:
        yield Problem("INVALID_VALUE", place, f"It breaks the rule `{rule or 'false'}`.")


def _first_fault(schema: JsonObject, value: Json) -> ValidationError | None:
    found: ValidationError | None = best_match(_checking(json.dumps(schema)).iter_errors(value))
    return found


@lru_cache(maxsize=256)
def _checking(schema_text: str) -> Validator:
    """Made once for each schema: looking whether it is one takes much longer than holding a value to it."""
    schema = json.loads(schema_text)
    Draft202012Validator.check_schema(schema)
    if {"patternProperties", "unevaluatedProperties"} <= frozenset(_keys(schema)):
        # The library looks for the former on behalf of the latter, with patterns that may never end.
        raise BadParameter("`schema` cannot have both `patternProperties` and `unevaluatedProperties`")
    made: Validator = _Validator(_in_one_dialect(schema), registry=Registry())
    return made


def _keys(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for each in inner:
        yield from _keys(each)


def _in_one_dialect(schema: Json) -> Json:
    """Without any `$schema`: below the top, the library would take the validator of that dialect, and with it
    the patterns of that one."""
    if isinstance(schema, list):
        return [_in_one_dialect(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: each for name, each in schema.items() if name != "$schema" or not isinstance(each, str)}
    return {name: _in_one_dialect(each) for name, each in kept.items()}
