"""Traces that go through several programs, as W3C Trace Context writes them."""

import re
from typing import NamedTuple

HEADER = "traceparent"
_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


class TraceParent(NamedTuple):
    """A span of somebody's, as those hear of it who go on from there. `sampled`: it may have been recorded.

    >>> str(TraceParent("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True))
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    """

    trace_id: str
    span_id: str
    sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.sampled:02d}"


def read_traceparent(text: str | None) -> TraceParent | None:
    """None: there is none, or it breaks the standard. Of a later version, what is known of it."""
    match = None if text is None else _FORM.fullmatch(text)
    if match is None or match[1] == "ff" or not int(match[2], 16) or not int(match[3], 16):
        return None
    if match[1] == "00" and match[5]:
        return None
    return TraceParent(match[2], match[3], bool(int(match[4], 16) & _SAMPLED))


def kept_traceparent(text: str | None) -> str | None:
    """As it is kept, and passed on: in one form, whatever version it came in. None: there is none to keep."""
    found = read_traceparent(text)
    return None if found is None else str(found)
