"""Where a document asks for a path that another trigger has."""

from collections.abc import Iterator
from contextlib import contextmanager

from muster.api.problems import Code, clash
from muster.definitions.pointers import child
from muster.definitions.ports import PathTaken
from muster.definitions.trigger_paths import path_of
from muster.model.json import Json


@contextmanager
def pointing_into(document: Json) -> Iterator[None]:
    """Say of a path that is taken where in what was sent it stands."""
    try:
        yield
    except PathTaken as taken:
        pointer = next(_places(document, taken.path, ""), "")
        raise clash(Code.TAKEN, pointer, f"The path {taken.path!r} is in use already.") from None


def _places(value: Json, path: str, pointer: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _places(each, path, child(pointer, index))
    if not isinstance(value, dict):
        return
    for name, each in value.items():
        if name in ("path", "endpoint") and isinstance(each, str) and path_of(each) == path:
            yield child(pointer, name)
        yield from _places(each, path, child(pointer, name))
