"""Reads a definition's text, JSON or YAML, whichever it is."""

from muster.definitions import jsontext, yamltext
from muster.definitions.limits import DEFAULT_LIMITS, Limits
from muster.model.json import Json


def read(raw: bytes | str, limits: Limits = DEFAULT_LIMITS, content_type: str | None = None) -> Json:
    """The value of a JSON or YAML text. Raises `AuthorError` that says where it is wrong.

    `content_type` decides if it names one of the two; otherwise what begins with a brace or a bracket is
    JSON, and everything else YAML.
    """
    text = jsontext.decoded(raw, limits)
    if _is_json(text, (content_type or "").lower()):
        return jsontext.parse(text, limits)
    if "\0" in text:
        jsontext.refuse("INVALID_TEXT", "NUL is not allowed in text.", text, text.index("\0"))
    return yamltext.parse(text, limits)


def _is_json(text: str, content_type: str) -> bool:
    if "yaml" in content_type:
        return False
    return "json" in content_type or text.lstrip()[:1] in ("{", "[")
