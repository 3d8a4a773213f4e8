"""Reads JSON within bounds: every refusal says where, and none takes longer than the text is long."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf
from typing import NoReturn, cast

from muster.definitions.limits import DEFAULT_LIMITS, Limits
from muster.definitions.pointers import child
from muster.model.json import Json
from muster.model.problems import AuthorError, Problem
from muster.model.text import is_suitable

LARGEST = 2**64 - 1
SMALLEST = -(2**63)

# Possessive, and matching a string that never ends too: no text makes this look at a character twice.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}:,]|[^\s"\[\]{}:,]++', re.DOTALL)
# What could become NUL or half a surrogate pair; other text was checked as it came.
_suspicious_escape = re.compile(r"\\u(?:0000|[dD][89a-fA-F])").search


class _Refused(Exception):
    """Found while parsing, where the parser cannot say the place; `_locate` finds it afterwards."""


def read_json(raw: bytes | str, limits: Limits = DEFAULT_LIMITS) -> Json:
    """The value that a JSON text holds. Raises `AuthorError` for anything that is not plain, bounded JSON."""
    return parse(decoded(raw, limits), limits)


def decoded(raw: bytes | str, limits: Limits) -> str:
    """The text of a body, if it is UTF-8 and no longer than allowed. A byte order mark is dropped."""
    size = len(raw) if isinstance(raw, bytes) else sum(map(len, _encoded(raw)))
    if size > limits.bytes:
        refuse("TOO_LARGE", f"This is {size:,} bytes long; at most {limits.bytes:,} are allowed.")
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as error:
        refuse("NOT_UTF8", f"Byte {error.start + 1} is not UTF-8 text.")
    return text.removeprefix("\ufeff")


def _encoded(text: str) -> Iterator[bytes]:
    try:
        yield text.encode("utf-8")
    except UnicodeEncodeError as error:
        refuse("INVALID_TEXT", "Half of a surrogate pair is not a character.", text, error.start)


def parse(text: str, limits: Limits) -> Json:
    try:
        value = cast("Json", _decoder.decode(text))
    except json.JSONDecodeError as error:
        _locate(text, limits)
        _not_json(text, error)
    except (_Refused, RecursionError, ValueError):
        # ValueError: a number with more digits than Python converts.
        _locate(text, limits)
        refuse("UNREADABLE", "This is not JSON that can be read.")
    # With no more brackets than levels it cannot be too deep.
    may_be_deep = text.count("{") + text.count("[") > limits.depth
    if _suspicious_escape(text) or (may_be_deep and too_deep(value, limits.depth)):
        _locate(text, limits)
    return value


def too_deep(value: Json, depth: int) -> bool:
    """Whether more than `depth` objects and lists lie around some value."""
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _not_json(text: str, error: json.JSONDecodeError) -> NoReturn:
    if not text.strip():
        refuse("EMPTY_DOCUMENT", "There is nothing here to read.")
    if _comment(text, error.pos):
        refuse("UNREADABLE", "This is not JSON, which has no comments; YAML has, after `#`.", text, error.pos)
    wrong = error.msg[0].lower() + error.msg[1:].removesuffix(" starting at")
    refuse("UNREADABLE", f"This is not JSON: {wrong}.", text, error.pos)


def _comment(text: str, position: int) -> bool:
    """Whether what JSON stumbled over is a comment."""
    return text[position : position + 1_000].lstrip().startswith(("//", "/*", "#"))


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Refused
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused


def _float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise _Refused
    return number


def _int(text: str) -> int:
    number = int(text)
    if not SMALLEST <= number <= LARGEST:
        raise _Refused
    return number


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_float, parse_int=_int, parse_constant=_refuse_constant
)


@dataclass(slots=True)
class _Level:
    """An object or list whose tokens are being walked: `step` is the key or index of what comes next."""

    keys: set[str] | None
    step: str | int | None = None


def _locate(text: str, limits: Limits) -> None:
    """Walk the tokens once, and refuse at the first that breaks a bound; a plain syntax error is not one."""
    levels: list[_Level] = []
    key_next = False
    for match in _TOKEN.finditer(text):
        token, first = match.group(), match.group()[0]
        here = _Here(text, match.start(), levels)
        if first in "[{":
            levels.append(_Level(set()) if first == "{" else _Level(None, 0))
            key_next = first == "{"
            if len(levels) > limits.depth:
                refuse("TOO_DEEP", f"More than {limits.depth} levels are nested here.", text, match.start())
        elif first in "]}":
            if levels:
                levels.pop()
            key_next = False
        elif first == ",":
            key_next = bool(levels) and levels[-1].keys is not None
            if levels and isinstance(levels[-1].step, int):
                levels[-1].step += 1
        elif first == '"':
            content = _string(token, here)
            if key_next and levels and levels[-1].keys is not None:
                levels[-1].step = content
                if content in levels[-1].keys:
                    here.refuse("DUPLICATE_KEY", f"`{content}` is given twice here.")
                levels[-1].keys.add(content)
            key_next = False
        elif first != ":":
            _number(token, here)


@dataclass(frozen=True, slots=True)
class _Here:
    """Where a token stands."""

    text: str
    position: int
    levels: list[_Level]

    def refuse(self, code: str, message: str) -> NoReturn:
        pointer = child("", *(level.step for level in self.levels if level.step is not None))
        refuse(code, message, self.text, self.position, pointer)


def _string(token: str, here: _Here) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        content = cast("str", json.loads(token, strict=False))
    except json.JSONDecodeError:
        return token
    if not is_suitable(content):
        here.refuse("INVALID_TEXT", "NUL and halves of surrogate pairs are not allowed in text.")
    return content


def _number(token: str, here: _Here) -> None:
    wrong = token in ("NaN", "Infinity", "-Infinity")
    if re.fullmatch(r"-?\d+", token):
        wrong = len(token) > 20 or not SMALLEST <= int(token) <= LARGEST
    elif re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", token):
        wrong = float(token) in (float("inf"), float("-inf"))
    if wrong:
        here.refuse("INVALID_NUMBER", f"`{token[:40]}` is not a number that can be kept.")


def refuse(
    code: str, message: str, text: str = "", position: int | None = None, pointer: str = ""
) -> NoReturn:
    line = column = None
    if position is not None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
    raise AuthorError(Problem(code, pointer, message, line=line, column=column))
