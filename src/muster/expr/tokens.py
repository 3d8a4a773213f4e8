"""Text to tokens. What may never be written is refused here or in the parser, with its column."""

import re
from enum import Enum, auto
from typing import NamedTuple

from muster.expr import limits
from muster.expr.errors import ExpressionSyntaxError, LimitError


class Kind(Enum):
    NAME = auto()
    WHOLE = auto()
    FRACTION = auto()
    TEXT = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """One word of an expression. `start` and `end` are offsets in the compiled text."""

    kind: Kind
    value: str
    start: int
    end: int


_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(
    r"0[xX](?P<hex>[0-9a-fA-F]*)[lL]?"
    r"|(?P<fraction>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?[fFdD]?|[0-9]+[eE][+-]?[0-9]+[fFdD]?|[0-9]+[fFdD])"
    r"|(?P<whole>[0-9]+)[lL]?"
)
_SYMBOLS = re.compile(r"\^\[|\$\[|!\[|\?\[|\?:|\?\.|\|\||&&|\+\+|--|[<>=!]=|[-+*/%^(){}\[\].,:?!<>=#@&]")

_FORBIDDEN = {
    "++": "`++` is not available in expressions: they change nothing",
    "--": "`--` is not available in expressions: they change nothing (write `- -1` for a double minus)",
    "=": "assignment is not available in expressions: they change nothing (compare with `==`)",
    "@": "`@bean` is not available in expressions",
    "&": "`&bean` is not available in expressions (`&&` means and)",
}


def tokenise(text: str, start: int = 0, delimited: bool = False) -> list[Token]:
    """The tokens from `start` on, with one END token last.

    `delimited` ends at the brace that closes the expression, which is where the END token then stands; if
    there is none, the END token stands after the last character.
    """
    tokens: list[Token] = []
    position, open_braces = start, 0
    while True:
        position = _skip_space(text, position)
        if position - start > limits.SOURCE:
            raise LimitError(f"an expression may have {limits.SOURCE:,} characters at most", start + 1)
        if position == len(text):
            break
        if len(tokens) == limits.OPERATIONS:
            raise LimitError(f"an expression may have {limits.OPERATIONS:,} words at most", position + 1)
        token = _token(text, position)
        if token.kind is Kind.SYMBOL:
            if token.value == "}" and open_braces == 0 and delimited:
                break
            open_braces += {"{": 1, "}": -1}.get(token.value, 0)
        tokens.append(token)
        position = token.end
    tokens.append(Token(Kind.END, "", position, position))
    return tokens


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _token(text: str, position: int) -> Token:
    character = text[position]
    if character in "'\"":
        return _text(text, position, character)
    if character.isascii() and character.isdigit():
        return _number(text, position)
    if (
        _is_letter(character)
        or character == "_"
        or (character == "$" and text[position + 1 : position + 2] != "[")
    ):
        return _name(text, position)
    return _symbol(text, position)


def _is_letter(character: str) -> bool:
    # Letters beyond the basic plane are not letters to Spring either.
    return character.isalpha() and character <= "\uffff"


def _name(text: str, position: int) -> Token:
    plain = _PLAIN_NAME.match(text, position)
    end = plain.end() if plain else position + 1
    while end < len(text) and (
        _is_letter(text[end]) or text[end] in "_$" or (text[end].isascii() and text[end].isdigit())
    ):
        end += 1
    name = text[position:end]
    if name.startswith("__"):
        raise ExpressionSyntaxError(
            f"`{name}` is not available in expressions: no name may begin with `__`", position + 1
        )
    return Token(Kind.NAME, name, position, end)


def _text(text: str, position: int, quote: str) -> Token:
    end = position
    while True:
        end = text.find(quote, end + 1)
        if end < 0:
            raise ExpressionSyntaxError(f"the text that {quote} begins here is never closed", position + 1)
        if text[end + 1 : end + 2] != quote:
            break
        end += 1
    value = text[position + 1 : end].replace(quote * 2, quote)
    return Token(Kind.TEXT, value, position, end + 1)


def _number(text: str, position: int) -> Token:
    found = _NUMBER.match(text, position)
    assert found is not None, "a digit begins a number"
    end = found.end()
    if found["fraction"] is not None:
        return Token(Kind.FRACTION, found["fraction"].rstrip("fFdD"), position, end)
    digits = found["whole"] if found["hex"] is None else "0x" + found["hex"]
    if digits == "0x" or (found["whole"] is not None and text[end : end + 1] in ("e", "E")):
        raise ExpressionSyntaxError(f"`{text[position : end + 1]}` is not a number", position + 1)
    if len(digits) > limits.DIGITS:
        raise LimitError(f"a number may have {limits.DIGITS:,} digits at most", position + 1)
    return Token(Kind.WHOLE, digits, position, end)


def _symbol(text: str, position: int) -> Token:
    found = _SYMBOLS.match(text, position)
    if found is None:
        raise ExpressionSyntaxError(_unexpected(text[position]), position + 1)
    symbol = found.group()
    if symbol == "#" and text[position + 1 : position + 2] == "{":
        raise ExpressionSyntaxError("expressions cannot be nested: `#{` begins another one", position + 1)
    if symbol in _FORBIDDEN:
        raise ExpressionSyntaxError(_FORBIDDEN[symbol], position + 1, "EXPRESSION_FORBIDDEN")
    return Token(Kind.SYMBOL, symbol, position, found.end())


def _unexpected(character: str) -> str:
    shown = f"`{character}`" if character.isprintable() else f"the invisible character U+{ord(character):04X}"
    return f"{shown} has no meaning in an expression"
