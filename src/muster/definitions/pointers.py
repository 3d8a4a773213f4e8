"""JSON pointers (RFC 6901) into the document as its author wrote it."""

from collections.abc import Iterable

Path = tuple[str | int, ...]


def child(pointer: str, *steps: str | int) -> str:
    """The pointer to what lies below `pointer` by these keys and indexes."""
    return pointer + "".join("/" + escaped(step) for step in steps)


def escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def steps(pointer: str) -> list[str]:
    """The keys and indexes that a pointer names, each as text."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def dotted(path: Iterable[str | int]) -> str:
    """A path as people write it: `forEach.cases.1.subject`, `transformations[0].field`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


class Below:
    """The place of values that were written right below a pointer."""

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer

    def __call__(self, path: Path) -> tuple[str, str]:
        return child(self.pointer, *path), ""
