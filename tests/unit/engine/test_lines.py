"""Lines of the log name whom they are about in fields, too, by which they are found."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src" / "muster"


def logged() -> Iterator[tuple[str, ast.Call]]:
    for path in SOURCES.rglob("*.py"):
        for found in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(found, ast.Call)
                and isinstance(found.func, ast.Attribute)
                and isinstance(found.func.value, ast.Name)
                and found.func.value.id in ("log", "_log")
                and found.args
                and isinstance(found.args[0], ast.Constant)
            ):
                yield f"{path.relative_to(SOURCES)}:{found.lineno}", found


def test_whoever_names_an_execution_a_node_or_a_command_in_a_line_has_them_as_fields() -> None:
    named = [
        (place, call)
        for place, call in logged()
        if any(word in ast.unparse(call.args[0]) for word in ("execution %s", "node %s", "command %s"))
    ]
    assert len(named) >= 8
    assert [place for place, call in named if "extra" not in {each.arg for each in call.keywords}] == []
