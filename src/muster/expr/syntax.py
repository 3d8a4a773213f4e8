"""The shapes an expression is made of. `start` and `end` are offsets in the compiled text."""

from dataclasses import dataclass
from typing import TypeAlias

from muster.model.json import Json


@dataclass(frozen=True, slots=True)
class Node:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    value: Json


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A bare name: looked up on what is current."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """`#name`, `#this` or `#root`."""

    name: str


@dataclass(frozen=True, slots=True)
class Current(Node):
    """What a path that begins with a bracket or a method begins on."""


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function of the fixed list."""

    name: str
    arguments: "tuple[Syntax, ...]"


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: "tuple[Syntax, ...]"


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """An inline map. A key that is a bare name stands for itself."""

    entries: "tuple[tuple[Syntax, Syntax], ...]"


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: str
    operand: "Syntax"


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Operators of one rank, from left to right: flat, so that a long sum is not a deep one."""

    first: "Syntax"
    rest: "tuple[tuple[str, int, Syntax], ...]"


@dataclass(frozen=True, slots=True)
class Compare(Node):
    operator: str
    left: "Syntax"
    right: "Syntax"


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`and` or `or` over two or more operands."""

    operator: str
    operands: "tuple[Syntax, ...]"


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    condition: "Syntax"
    when_true: "Syntax"
    when_false: "Syntax"


@dataclass(frozen=True, slots=True)
class Elvis(Node):
    value: "Syntax"
    otherwise: "Syntax"


@dataclass(frozen=True, slots=True)
class Property(Node):
    name: str
    safe: bool


@dataclass(frozen=True, slots=True)
class Index(Node):
    index: "Syntax"
    safe: bool


@dataclass(frozen=True, slots=True)
class Method(Node):
    name: str
    arguments: "tuple[Syntax, ...]"
    safe: bool


@dataclass(frozen=True, slots=True)
class Each(Node):
    """Selection `?[`, first `^[`, last `$[` or projection `![`, with its body."""

    operator: str
    body: "Syntax"
    safe: bool


Step: TypeAlias = Property | Index | Method | Each


@dataclass(frozen=True, slots=True)
class Path(Node):
    """Steps taken from a start, one after the other."""

    origin: "Syntax"
    steps: tuple[Step, ...]


Syntax: TypeAlias = (
    Literal
    | Name
    | Variable
    | Current
    | Call
    | ListOf
    | MapOf
    | Unary
    | Chain
    | Compare
    | Logic
    | Ternary
    | Elvis
    | Path
)
