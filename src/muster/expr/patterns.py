"""Regular expressions, on an engine whose time grows with the text alone (RE2).

Patterns come from authors and, through the context, from strangers: their length, their compiled size and the
number of pieces they may cut are all bounded.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped]  # ships no types

from muster.expr import limits
from muster.expr.errors import ExpressionError, LimitError
from muster.model.json import Json

_PROGRAM_MEMORY = 512 * 1024
_STEPS_PER_OPERATION = 1024
_PIECES = 5_000


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...
    def group(self, which: int | str) -> str | None: ...


class _Pattern(Protocol):
    @property
    def programsize(self) -> int: ...
    def fullmatch(self, text: str) -> _Match | None: ...
    def finditer(self, text: str) -> Iterator[_Match]: ...


@lru_cache(maxsize=128)
def _compiled(pattern: str, with_groups: bool) -> _Pattern:
    if len(pattern) > limits.PATTERN:
        raise LimitError(f"a pattern may have {limits.PATTERN:,} characters at most")
    options = re2.Options()
    options.max_mem = _PROGRAM_MEMORY
    options.log_errors = False
    options.never_capture = not with_groups  # without groups the fastest of its engines will do
    try:
        compiled: _Pattern = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        raise ExpressionError(
            "this is not a pattern (RE2 syntax: no look-around, no back-references)",
            "EXPRESSION_PATTERN",
        ) from None
    return compiled


def cost(text: str, pattern: str, with_groups: bool) -> int:
    """The operations to charge for looking through a text: the worst case is text times program."""
    return len(text) * _compiled(pattern, with_groups).programsize // _STEPS_PER_OPERATION


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern describes the whole text."""
    return _compiled(pattern, False).fullmatch(_encodable(text)) is not None


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExpressionError(
            "the text holds half a character (a lone surrogate)", "EXPRESSION_TYPE"
        ) from None
    return text


def _found(text: str, pattern: str) -> Iterator[_Match]:
    for number, match in enumerate(_compiled(pattern, True).finditer(_encodable(text))):
        if number >= _PIECES:
            raise LimitError(f"the pattern matches more than {_PIECES:,} times")
        yield match


def split(text: str, pattern: str, limit: int = 0) -> list[Json]:
    """Java's `split`: with no limit, empty pieces at the end are dropped; a negative one keeps all."""
    pieces: list[str] = []
    at = 0
    for match in _found(text, pattern):
        if 0 < limit <= len(pieces) + 1:
            break
        start, end = match.span()
        if end == 0:
            continue  # an empty match at the beginning cuts nothing off
        pieces.append(text[at:start])
        at = end
    if at == 0:
        return [text]
    pieces.append(text[at:])
    while limit == 0 and pieces and not pieces[-1]:
        pieces.pop()
    return list(pieces)


def replace(text: str, pattern: str, replacement: str, only_first: bool = False) -> str:
    """Java's `replaceAll` and `replaceFirst`: `$1` and `${name}` are groups, a backslash quotes."""
    parts = _replacement(replacement)
    made: list[str] = []
    at = length = 0
    for match in _found(text, pattern):
        start, end = match.span()
        new = [text[at:start], *(_group(match, part) if is_group else part for is_group, part in parts)]
        length += sum(map(len, new))
        limits.allow_text(length)
        made += new
        at = end
        if only_first:
            break
    limits.allow_text(length + len(text) - at)
    return "".join([*made, text[at:]])


def _group(match: _Match, group: str) -> str:
    try:
        return match.group(int(group) if group.isdigit() else group) or ""
    except (IndexError, KeyError):
        raise ExpressionError(
            "the replacement asks for a group that the pattern does not have", "EXPRESSION_PATTERN"
        ) from None


def _replacement(text: str) -> list[tuple[bool, str]]:
    """The parts of a replacement: (is it a group, the group's name or the plain text)."""
    parts: list[tuple[bool, str]] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character not in "\\$":
            parts.append((False, character))
            at += 1
        elif character == "\\" and at + 1 < len(text):
            parts.append((False, text[at + 1]))
            at += 2
        elif character == "$" and text[at + 1 : at + 2].isdecimal():
            parts.append((True, text[at + 1]))
            at += 2
        elif character == "$" and text[at + 1 : at + 2] == "{" and "}" in text[at:]:
            end = text.index("}", at)
            parts.append((True, text[at + 2 : end]))
            at = end + 1
        else:
            raise ExpressionError(
                "the replacement ends in the middle of a group or a quoted character", "EXPRESSION_PATTERN"
            )
    return parts
