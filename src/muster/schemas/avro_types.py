"""Avro schemas as types: parsed once, with every name resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from muster.model.json import Json
from muster.nodes.resolved import BadParameter

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    logical: str | None = None
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Field:
    """`default` counts if `has_default`."""

    name: str
    type: "Type"
    has_default: bool = False
    default: Json = None


@dataclass(slots=True)
class Record:
    """Its fields are set once they are known: a record may hold itself."""

    name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    size: int
    logical: str | None = None
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Array:
    items: "Type"


@dataclass(frozen=True, slots=True)
class Map:
    values: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple["Type", ...]


Type: TypeAlias = Primitive | Record | Enum | Fixed | Array | Map | Union


@dataclass(slots=True)
class _Names:
    known: dict[str, Type] = field(default_factory=dict)


def parse(schema: Json, others: Mapping[str, Json] | None = None) -> Type:
    """The type that a schema describes; `others` are schemas that it refers to, which come first. Raises
    `BadParameter`."""
    names = _Names()
    for other in (others or {}).values():
        _parse(other, "", names, 0)
    return _parse(schema, "", names, 0)


def _parse(schema: Json, space: str, names: _Names, depth: int) -> Type:
    if depth > DEEPEST:
        raise _wrong("it is nested too deeply")
    match schema:
        case str():
            return _named(schema, space, names)
        case list():
            branches = tuple(_parse(each, space, names, depth + 1) for each in schema)
            if not branches or any(isinstance(each, Union) for each in branches):
                raise _wrong("a union should be a list of types that are no unions")
            return Union(branches)
        case dict():
            return _complex(schema, space, names, depth)
        case _:
            raise _wrong("a type should be a name, a list or an object")


def _named(name: str, space: str, names: _Names) -> Type:
    if name in PRIMITIVES:
        return Primitive(name)
    for full in (name, f"{space}.{name}" if space and "." not in name else name):
        if (known := names.known.get(full)) is not None:
            return known
    raise _wrong(f"there is no type `{name[:100]}`")


def _complex(schema: dict[str, Json], space: str, names: _Names, depth: int) -> Type:
    kind = schema.get("type")
    logical, scale = schema.get("logicalType"), schema.get("scale", 0)
    named = logical if isinstance(logical, str) else None
    digits = scale if isinstance(scale, int) else 0
    match kind:
        case "record" | "error":
            return _record(schema, space, names, depth)
        case "enum":
            return _declare(names, Enum(_full(schema, space), _symbols(schema)))
        case "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or size < 0:
                raise _wrong("`size` of a fixed should be a whole number")
            return _declare(names, Fixed(_full(schema, space), size, named, digits))
        case "array":
            return Array(_parse(schema.get("items"), space, names, depth + 1))
        case "map":
            return Map(_parse(schema.get("values"), space, names, depth + 1))
        case str() if kind in PRIMITIVES:
            return Primitive(kind, named, digits)
        case _:
            return _parse(kind, space, names, depth + 1)


def _record(schema: dict[str, Json], space: str, names: _Names, depth: int) -> Type:
    full = _full(schema, space)
    record = Record(full)
    names.known[full] = record
    fields = schema.get("fields")
    if not isinstance(fields, list):
        raise _wrong(f"`fields` of `{full}` should be a list")
    record.fields = tuple(_field(each, full.rpartition(".")[0], names, depth) for each in fields)
    return record


def _field(given: Json, space: str, names: _Names, depth: int) -> Field:
    if not isinstance(given, dict) or not isinstance(name := given.get("name"), str):
        raise _wrong("a field should be an object with a `name` and a `type`")
    kind = _parse(given.get("type"), space, names, depth + 1)
    return Field(name, kind, "default" in given, given.get("default"))


def _symbols(schema: dict[str, Json]) -> tuple[str, ...]:
    symbols = schema.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
        raise _wrong("`symbols` of an enum should be texts")
    return tuple(str(each) for each in symbols)


def _declare(names: _Names, made: Enum | Fixed) -> Type:
    names.known[made.name] = made
    return made


def _full(schema: dict[str, Json], space: str) -> str:
    name, own = schema.get("name"), schema.get("namespace", space)
    if not isinstance(name, str) or not name:
        raise _wrong("a record, an enum and a fixed should have a `name`")
    return name if "." in name or not own else f"{own}.{name}"


def _wrong(why: str) -> BadParameter:
    return BadParameter(f"`schema` is no Avro schema that can be used: {why}")
