"""Whether an answer is as its JSON Schema says. Nothing is fetched, and patterns run in linear time."""

from collections.abc import Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from muster.expr import ExpressionError
from muster.expr.patterns import matches
from muster.model.json import Json, JsonObject
from muster.nodes.resolved import BadParameter


def _pattern(_: object, pattern: str, value: object, __: object) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    try:
        fits = matches(value, f"(?s:.*)(?:{pattern})(?s:.*)")
    except ExpressionError:
        raise BadParameter("`schema` holds a pattern that cannot be used") from None
    if not fits:
        yield ValidationError("does not match the pattern")


_Validator = extend(  # type: ignore[no-untyped-call]  # the stubs leave it untyped
    Draft202012Validator, {"pattern": _pattern}
)


def fault_of(schema: Json, value: Json) -> str | None:
    """Where the value does not fit and which rule it breaks, without the value itself; None: it fits.

    Raises `BadParameter` for a schema that is none.
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
    return f"`/{place}` breaks the rule `{found.validator}`"


def _first_fault(schema: JsonObject, value: Json) -> ValidationError | None:
    Draft202012Validator.check_schema(schema)
    found: ValidationError | None = best_match(_Validator(schema, registry=Registry()).iter_errors(value))
    return found
