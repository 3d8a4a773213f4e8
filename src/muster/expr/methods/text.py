"""Methods of text."""

from muster.expr import limits, patterns
from muster.expr.convert import whole
from muster.expr.methods.targets import UNSAID, as_text, only_text, text_target, within
from muster.expr.operators import repeat
from muster.model.json import Json


def length(target: Json) -> Json:
    """How many characters a text has.

    >>> run("'hello'.length()")
    5
    """
    return len(text_target("length", target))


def to_upper_case(target: Json) -> Json:
    """The text in capitals.

    >>> run("'hello'.toUpperCase()")
    'HELLO'
    """
    return text_target("toUpperCase", target).upper()


def to_lower_case(target: Json) -> Json:
    """The text in small letters.

    >>> run("'Hello'.toLowerCase()")
    'hello'
    """
    return text_target("toLowerCase", target).lower()


def trim(target: Json) -> Json:
    """The text without blanks and control characters at its ends.

    >>> run("'  hello '.trim()")
    'hello'
    """
    return text_target("trim", target).strip("".join(map(chr, range(0x21))))


def strip(target: Json) -> Json:
    """The text without any white space at its ends.

    >>> run("'  hello '.strip()")
    'hello'
    """
    return text_target("strip", target).strip()


def substring(target: Json, start: Json, end: Json = UNSAID) -> Json:
    """The part from `start` up to, not including, `end`; to the end if none is given.

    >>> run("'hello'.substring(1, 3)")
    'el'
    """
    text = text_target("substring", target)
    first = whole(start)
    last = len(text) if end is UNSAID else whole(end)
    within(first, last, len(text), "a text")
    return text[first:last]


def starts_with(target: Json, prefix: Json, offset: Json = 0) -> Json:
    """Whether the text begins so, or continues so from an offset on.

    >>> run("'hello'.startsWith('he')")
    True
    """
    text, start = text_target("startsWith", target), whole(offset)
    if start < 0 and prefix is None:
        return False  # Java looks no further than the offset
    beginning = as_text(prefix)
    return 0 <= start <= len(text) and text.startswith(beginning, start)


def ends_with(target: Json, suffix: Json) -> Json:
    """Whether the text ends so.

    >>> run("'hello'.endsWith('lo')")
    True
    """
    return text_target("endsWith", target).endswith(as_text(suffix))


def replace(target: Json, old: Json, new: Json) -> Json:
    """The text with every `old` replaced, letter for letter.

    >>> run("'a.b.c'.replace('.', '-')")
    'a-b-c'
    """
    text, before, after = text_target("replace", target), only_text(old), only_text(new)
    limits.allow_text(len(text) + text.count(before) * (len(after) - len(before)))
    return text.replace(before, after)


def replace_all(target: Json, pattern: Json, replacement: Json) -> Json:
    """The text with every match of a pattern replaced; `$1` is the pattern's first group.

    >>> run("'2026-11-15'.replaceAll('(\\\\d+)-(\\\\d+)-(\\\\d+)', '$3.$2.$1')")
    '15.11.2026'
    """
    return patterns.replace(text_target("replaceAll", target), as_text(pattern), as_text(replacement))


def replace_first(target: Json, pattern: Json, replacement: Json) -> Json:
    """The text with the first match of a pattern replaced.

    >>> run("'hello'.replaceFirst('l', 'L')")
    'heLlo'
    """
    return patterns.replace(text_target("replaceFirst", target), as_text(pattern), as_text(replacement), True)


def matches(target: Json, pattern: Json) -> Json:
    """Whether a pattern describes the whole text.

    >>> run("'hello'.matches('h.*')")
    True
    """
    return patterns.matches(text_target("matches", target), as_text(pattern))


def split(target: Json, pattern: Json, limit: Json = 0) -> Json:
    """The pieces between the matches of a pattern; empty ones at the end are dropped.

    >>> run("'a,b,,c,'.split(',')")
    ['a', 'b', '', 'c']
    """
    return patterns.split(text_target("split", target), as_text(pattern), whole(limit))


def is_blank(target: Json) -> Json:
    """Whether a text has nothing but white space in it.

    >>> run("'  '.isBlank()")
    True
    """
    return not text_target("isBlank", target).strip()


def concat(target: Json, other: Json) -> Json:
    """The text with another after it.

    >>> run("'a'.concat('b')")
    'ab'
    """
    text, end = text_target("concat", target), as_text(other)
    limits.allow_text(len(text) + len(end))
    return text + end


def char_at(target: Json, index: Json) -> Json:
    """The character at a place, counted from 0.

    >>> run("'hello'.charAt(1)")
    'e'
    """
    text, place = text_target("charAt", target), whole(index)
    within(place, place + 1, len(text), "a text")
    return text[place]


def equals_ignore_case(target: Json, other: Json) -> Json:
    """Whether two texts are the same but for capitals.

    >>> run("'Hello'.equalsIgnoreCase('hELLO')")
    True
    """
    text = text_target("equalsIgnoreCase", target)
    return other is not None and text.lower() == as_text(other).lower()


def compare_to_ignore_case(target: Json, other: Json) -> Json:
    """Like `compareTo`, without regard to capitals.

    >>> run("'A'.compareToIgnoreCase('a')")
    0
    """
    return text_distance(text_target("compareToIgnoreCase", target).lower(), as_text(other).lower())


def text_distance(left: str, right: str) -> int:
    """Java's answer: how far apart the first two characters that differ are, else the lengths."""
    for a, b in zip(left, right, strict=False):
        if a != b:
            return ord(a) - ord(b)
    return len(left) - len(right)


def repeat_text(target: Json, count: Json) -> Json:
    """The text that many times.

    >>> run("'ab'.repeat(3)")
    'ababab'
    """
    return repeat(text_target("repeat", target), whole(count))
