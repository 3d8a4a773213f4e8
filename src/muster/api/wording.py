"""What must be otherwise with a value, in our words: callers do not know the library that checks it."""

from collections.abc import Mapping

_TIME = "be a time such as 2026-03-01T12:00:00Z"
_OBJECT, _LIST, _WHOLE, _NUMBER = "be an object", "be a list", "be a whole number", "be a number"

_FIXED = {
    "string_type": "be text",
    "bool_type": "be true or false",
    "bool_parsing": "be true or false",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "be a smaller number",
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "missing": "be given",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "timezone_aware": "be a time with its zone, such as 2026-03-01T12:00:00Z",
}
_BOUNDED = {
    "greater_than": "be more than {gt}",
    "greater_than_equal": "be {ge} or more",
    "less_than": "be less than {lt}",
    "less_than_equal": "be {le} or less",
    "enum": "be {expected}",
    "literal_error": "be {expected}",
    "string_pattern_mismatch": "have the form `{pattern}`",
}


def must(kind: str, bounds: Mapping[str, object]) -> str:
    """What follows "must", by the checking library's name for the error and the bounds that it gives."""
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "string_pattern_mismatch" and bounds.get("pattern") == r"\S":
        return "hold more than spaces"
    if kind in _BOUNDED:
        return _BOUNDED[kind].format_map({name: _plain(bound) for name, bound in bounds.items()})
    match kind:
        case "string_too_short":
            return f"have {_many(bounds['min_length'], 'character')} or more"
        case "string_too_long":
            return f"have {_many(bounds['max_length'], 'character')} at most"
        case "too_short":
            return f"have {_many(bounds['min_length'], 'entry', 'entries')} or more"
        case "too_long":
            return f"have {_many(bounds['max_length'], 'entry', 'entries')} at most"
    return "be another value"


def _plain(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _many(count: object, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"
