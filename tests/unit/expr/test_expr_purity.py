"""The language reaches nothing but JSON values, by construction."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src" / "muster" / "expr"
FORBIDDEN = {
    "eval",
    "exec",
    "compile",
    "getattr",
    "setattr",
    "delattr",
    "hasattr",
    "vars",
    "globals",
    "locals",
    "__import__",
    "open",
    "input",
    "breakpoint",
    "type_call",
}
IMPORTS = {
    "calendar",
    "collections",
    "contextvars",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "functools",
    "hashlib",
    "inspect",
    "itertools",
    "json",
    "jsonpath",
    "math",
    "muster",
    "operator",
    "re",
    "re2",
    "typing",
    "uuid",
    "zoneinfo",
}


def trees() -> list[tuple[str, ast.AST]]:
    return [(path.name, ast.parse(path.read_text())) for path in SOURCE.rglob("*.py")]


def test_nothing_is_evaluated_imported_or_reached_by_name() -> None:
    used = [
        f"{name}:{node.lineno} {node.id}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in FORBIDDEN
    ]
    assert used == []


def test_no_attribute_of_python_is_read() -> None:
    dunders = [
        f"{name}:{node.lineno} {node.attr}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr != "__init__"
    ]
    assert dunders == []


def test_only_these_modules_are_imported_and_none_that_does_input_or_output() -> None:
    imported = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    assert imported <= IMPORTS


def test_no_clock_is_read() -> None:
    clocks = [
        f"{name}:{node.lineno}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("now", "utcnow", "today", "uuid1", "uuid4")
        and isinstance(node.value, ast.Name)
        and node.value.id in ("datetime", "date", "uuids", "uuid")
    ]
    assert clocks == []
