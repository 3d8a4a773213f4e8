"""A large value that is kept beside its execution, and what stands in its place until somebody reads it."""

from collections.abc import Iterator, Mapping, Sequence

from muster.model.json import Json, JsonObject

MARK = "$large"
# Larger values, as JSON in bytes, are kept aside.
LARGE = 64 * 1024


class Aside(dict[str, Json]):
    """What stands for a value. As JSON it looks like what people are shown; it is told from a value that only
    looks so by its type, in memory, and by a list of places, in the store."""

    __slots__ = ("sha256", "size")

    def __init__(self, sha256: str, size: int) -> None:
        super().__init__({MARK: {"sha256": sha256, "size": size}})
        self.sha256, self.size = sha256, size


class Unread(Exception):
    """Somebody reads values that are aside: fetch them, put them in, and ask again."""

    def __init__(self, asides: list[Aside]) -> None:
        super().__init__(f"{len(asides)} values are aside")
        self.digests = frozenset(aside.sha256 for aside in asides)


def asides_in(value: Json) -> Iterator[Aside]:
    """What stands for values in here. They stand in objects, never in lists."""
    if isinstance(value, Aside):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            if isinstance(member, dict):
                yield from asides_in(member)


def places_of(value: Json, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where `asides_in` finds them."""
    if isinstance(value, Aside):
        yield above
    elif isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, dict):
                yield from places_of(member, (*above, name))


def with_asides(columns: dict[str, Json], places: Sequence[Sequence[str]] | None) -> dict[str, Json]:
    """The columns of a row as they were read, with what stands for values in their places."""
    for *above, name in places or ():
        inside: Json = columns
        for key in above:
            assert isinstance(inside, dict)
            inside = inside[key]
        assert isinstance(inside, dict)
        mark = inside[name]
        assert isinstance(mark, dict)
        kept = mark[MARK]
        assert isinstance(kept, dict)
        sha256, size = kept["sha256"], kept["size"]
        assert isinstance(sha256, str)
        assert isinstance(size, int)
        inside[name] = Aside(sha256, size)
    return columns


def linked(execution_id: str, value: Json) -> Json:
    """The value as people are shown it: what is kept aside is told by its size and where it is."""
    if isinstance(value, Aside):
        href = f"/api/workflow/executions/{execution_id}/values/{value.sha256}"
        return {MARK: {"size": value.size, "sha256": value.sha256, "href": href}}
    if isinstance(value, dict) and any(asides_in(value)):
        return {name: linked(execution_id, member) for name, member in value.items()}
    return value


def filled(value: JsonObject, values: Mapping[str, Json]) -> JsonObject:
    """The same with these values, by their digests, in their places."""
    return {name: _filled(member, values) for name, member in value.items()}


def _filled(value: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(value, Aside):
        return values.get(value.sha256, value)
    if isinstance(value, dict) and any(asides_in(value)):
        return filled(value, values)
    return value
