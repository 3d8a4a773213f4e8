"""Reads the part of YAML that says what JSON says, and refuses the rest by name.

Values are built from the parser's events, one by one, so that a bound is met before anything grows. Plain
words follow YAML 1.2: `on`, `yes` and `off` are words, and so are dates, `300s` and `12:30`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import yaml
from yaml import events

from muster.definitions.jsontext import LARGEST, SMALLEST
from muster.definitions.limits import Limits
from muster.definitions.pointers import child
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem
from muster.model.text import is_suitable

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(slots=True)
class _Level:
    """An object or list that is still open, with the key that waits for its value."""

    value: dict[str, Json] | list[Json]
    pointer: str
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict)

    def pointer_of_next(self) -> str:
        if isinstance(self.value, list):
            return child(self.pointer, len(self.value))
        return child(self.pointer, self.key) if self.key is not None else self.pointer


def parse(text: str, limits: Limits) -> Json:
    """The value that a YAML text holds. Raises `AuthorError` with a line and a column."""
    try:
        return _build(yaml.parse(text, Loader=_LOADER), limits)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _unreadable(error.problem or "it cannot be understood", mark)
    except (yaml.YAMLError, RecursionError) as error:
        _unreadable(getattr(error, "reason", None) or "it cannot be understood", None)


def _unreadable(reason: str, mark: "yaml.Mark | None") -> NoReturn:
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    raise AuthorError(Problem("UNREADABLE", "", f"This is not YAML: {reason}.", line=line, column=column))


def _build(stream: Iterator[events.Event], limits: Limits) -> Json:
    result: list[Json] = []
    levels = [_Level(result, "")]
    for event in stream:
        level = levels[-1]
        match event:
            case events.MappingStartEvent() | events.SequenceStartEvent():
                _plain(event, level)
                if len(levels) > limits.depth:
                    _refuse("TOO_DEEP", f"More than {limits.depth} levels are nested here.", event, level)
                levels.append(_open(event, level, outermost=len(levels) == 1))
            case events.MappingEndEvent() | events.SequenceEndEvent():
                levels.pop()
                _put(levels[-1], level.value)
            case events.ScalarEvent():
                _plain(event, level)
                _take(event, level)
            case events.AliasEvent():
                _refuse("YAML_ALIAS", f"`*{event.anchor}`: write the value out instead.", event, level)
            case events.DocumentStartEvent() if result:
                _refuse("UNREADABLE", "A second document begins here; give one at a time.", event, level)
    if not result:
        raise AuthorError(Problem("EMPTY_DOCUMENT", "", "There is nothing here to read."))
    return result[0]


def _plain(event: "events.NodeEvent", level: _Level) -> None:
    if event.anchor is not None:
        _refuse("YAML_ALIAS", f"`&{event.anchor}`: write the value out where it is needed.", event, level)
    tag = getattr(event, "tag", None)
    if tag is not None:
        _refuse("YAML_TAG", f"The tag `{tag}` is not allowed; quote the value to make it text.", event, level)


def _open(event: "events.CollectionStartEvent", level: _Level, outermost: bool) -> _Level:
    if isinstance(level.value, dict) and level.key is None:
        _refuse("YAML_KEY", "A key is text; a list or an object cannot be one.", event, level)
    pointer = "" if outermost else level.pointer_of_next()
    return _Level({} if isinstance(event, events.MappingStartEvent) else [], pointer)


def _take(event: "events.ScalarEvent", level: _Level) -> None:
    text = event.value
    if not is_suitable(text):
        _refuse("INVALID_TEXT", "NUL and halves of surrogate pairs are not allowed in text.", event, level)
    if isinstance(level.value, dict) and level.key is None:
        if text in level.value:
            first = level.lines[text]
            _refuse("DUPLICATE_KEY", f"`{text}` is given twice here, first on line {first}.", event, level)
        level.lines[text] = _place(event)[0]
        level.key = text
    else:
        _put(level, _scalar(event, level) if event.implicit[0] else text)


def _put(level: _Level, value: Json) -> None:
    if isinstance(level.value, list):
        level.value.append(value)
    elif level.key is not None:
        level.value[level.key] = value
        level.key = None


def _scalar(event: "events.ScalarEvent", level: _Level) -> Json:
    text: str = event.value
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text) and len(text) <= 40:
        number = int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        return number if SMALLEST <= number <= LARGEST else _not_a_number(event, level)
    if _INT.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _not_a_number(event, level)
    if any(character.isdigit() for character in text[:3]) and _FLOAT.fullmatch(text):
        value = float(text)
        return value if value - value == 0 else _not_a_number(event, level)
    return text


def _not_a_number(event: "events.ScalarEvent", level: _Level) -> NoReturn:
    _refuse("INVALID_NUMBER", f"`{event.value[:40]}` is not a number that can be kept.", event, level)


def _refuse(code: str, message: str, event: events.Event, level: _Level) -> NoReturn:
    line, column = _place(event)
    raise AuthorError(Problem(code, level.pointer_of_next(), message, line=line, column=column))


def _place(event: events.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
