"""The references have everything that there is in the code, and nothing else."""

import ast
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from reference import commands  # type: ignore[import-not-found]  # a script's folder, no package

from muster.app.build import opened
from muster.app.settings import Settings
from muster.app.settings.leaf import leaves
from muster.nodes import builtin

SOURCES = Path(__file__).parents[2] / "src" / "muster"
# Beginnings of names, to which something is added where they are used.
FRAGMENTS = {"muster_executions_"}
METRIC = r"(?:muster|workflow_kafka|http_server)_[a-z_]+"


def rows(page: str, cell: str) -> set[str]:
    return set(re.findall(rf"^\| `({cell})`", page, re.MULTILINE))


def test_the_references_of_nodes_settings_and_commands_are_whole(made: dict[str, str]) -> None:
    headings = {
        name: re.findall(r"^## `(.+)`$", made[name], re.MULTILINE)
        for name in ("reference-nodes", "reference-commands")
    }
    assert headings["reference-nodes"] == sorted(type_.name for type_ in builtin().values())
    assert headings["reference-commands"] == [name for name, _ in commands()]
    assert {"muster serve", "muster outbox renew"} <= set(headings["reference-commands"])
    assert rows(made["reference-settings"], "[^`]+") == {leaf.path for leaf in leaves()}


async def test_the_reference_of_endpoints_has_each_route_of_the_server_and_no_other(
    made: dict[str, str], tmp_path: Path
) -> None:
    async with opened(Settings.model_validate({"data-dir": str(tmp_path)})) as house:
        routed: object = house.api
        while not isinstance(routed, FastAPI):
            routed = vars(routed)["_app"] if hasattr(routed, "__dict__") else routed._app  # type: ignore[attr-defined]
    there = {
        f"{method} {route.path_format}"
        for route in routed.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods
    }
    assert rows(made["reference-endpoints"], r"[A-Z]+ [^`]+") == there


def named_metrics() -> set[str]:
    """The names, as patterns, that modules which tell Prometheus something write down."""
    found = set()
    for path in SOURCES.rglob("*.py"):
        if "prometheus_client" in (text := path.read_text()):
            found |= {written(node) for node in ast.walk(ast.parse(text))}
    return {name.removesuffix("_total") for name in found if re.match(METRIC, name) and " " not in name}


def written(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(written(part) or "[a-z]+" for part in parts)
    return ""


def test_the_reference_of_metrics_has_each_that_the_code_names_and_no_other(made: dict[str, str]) -> None:
    told = {name.removesuffix("_total") for name in rows(made["reference-metrics"], r"\w+")}
    ours = {name for name in told if not name.startswith(("python_", "process_"))}
    named = named_metrics() - FRAGMENTS | {"muster_info"}  # prometheus_client adds the ending of an `Info`
    assert len(named) > 40
    assert [name for name in ours if not any(re.fullmatch(each, name) for each in named)] == []
    assert [each for each in named if not any(re.fullmatch(each, name) for name in told)] == []


@pytest.mark.parametrize("file", ["grafana/muster.json", "prometheus/muster.rules.yml"])
def test_what_the_dashboard_and_the_rules_ask_for_is_in_the_reference(
    file: str, made: dict[str, str]
) -> None:
    asked = set(re.findall(rf"\b{METRIC}\b", (SOURCES.parents[1] / "ops" / file).read_text()))
    told = rows(made["reference-metrics"], r"\w+")
    ends = ("_total", "_bucket", "_sum", "_count")
    assert {each for each in asked if not {each, *(each.removesuffix(end) for end in ends)} & told} == set()
