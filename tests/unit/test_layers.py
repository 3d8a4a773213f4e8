"""Imports point down the house only: `docs/architecture.md` draws this list."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "muster"

LAYERS = [
    {"app"},
    {"capsule"},
    {"conformance", "sim"},
    {"api", "bus", "cache", "client", "net", "schemas", "store"},
    {"plugin"},
    {"nodes", "watch"},
    {"engine"},
    {"definitions"},
    {"expr"},
    {"kit"},
    {"model"},
]
RANK = {package: rank for rank, layer in enumerate(LAYERS) for package in layer}


def imports_between_packages() -> list[tuple[str, str, str]]:
    found = []
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0]
        for statement in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom) and statement.module:
                assert statement.level == 0, f"relative import in {path}"
                names = [statement.module]
            for name in names:
                parts = name.split(".")
                if parts[0] == "muster" and len(parts) > 1 and parts[1] != package:
                    found.append((str(path.relative_to(SOURCE)), package, parts[1]))
    return found


def test_every_package_has_its_place() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages <= set(RANK)


def test_no_package_imports_one_above_or_beside_it() -> None:
    wrong = [
        f"{path}: {package} imports {other}"
        for path, package, other in imports_between_packages()
        if package in RANK and RANK[other] <= RANK[package]
    ]
    assert wrong == []


def test_the_client_needs_nothing_of_the_server() -> None:
    assert [found for found in imports_between_packages() if found[1] == "client"] == []
