"""How large a definition, or any other document from outside, may be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`bytes` counts the text as it came; `depth` counts the objects and lists around the innermost value."""

    bytes: int = 1024 * 1024
    depth: int = 64
    nodes: int = 500


DEFAULT_LIMITS = Limits()
