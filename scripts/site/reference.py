"""Pages that are made from the code: every type of node, setting, metric, endpoint and command."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import typer.main

from muster.app.build import opened
from muster.app.cli import app
from muster.app.load import shown
from muster.app.settings import Settings
from muster.app.settings.leaf import Leaf, leaves
from muster.nodes import builtin


async def references() -> dict[str, str]:
    """Each page's text, by its name."""
    document, metrics = await _asked()
    return {
        "reference-nodes": _nodes(),
        "reference-settings": _settings(),
        "reference-metrics": _metrics(metrics),
        "reference-endpoints": _endpoints(document),
        "reference-commands": _commands(),
    }


async def _asked() -> tuple[dict[str, Any], str]:
    """A server's own document, and what it tells to Prometheus."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.model_validate({"data-dir": folder, "redis": {"url": "redis://127.0.0.1:1/0"}})
        async with opened(settings) as house:
            transport = httpx.ASGITransport(house.api)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return (await client.get("/openapi.json")).json(), (await client.get("/metrics")).text


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _nodes() -> str:
    parts = [
        "# Reference: nodes",
        "Made from the types' own schemas. What they do is told in [Nodes](nodes.md).",
    ]
    for type_ in sorted(builtin().values(), key=lambda each: each.name):
        parts += [f"## `{type_.name}`", "| field | type | meaning |\n|---|---|---|"]
        required = type_.schema.get("required", [])
        properties = type_.schema.get("properties", {})
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        rows = [
            f"| `{name}`{' (required)' if name in required else ''} | {_kind(field)} | {_meaning(field)} |"
            for name, field in properties.items()
        ]
        parts[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(parts)


def _kind(field: Any) -> str:
    if "enum" in field:
        return ", ".join(f"`{_cell(value)}`" for value in field["enum"])
    kind = field.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(field: Any) -> str:
    default = f" Default `{_cell(json.dumps(field['default']))}`." if "default" in field else ""
    return _cell(field.get("description", field.get("title", ""))) + default


def _settings() -> str:
    rows = [
        f"| `{leaf.path}` | `{leaf.variable}` | {_default(leaf)} | {_cell(leaf.field.description)} |"
        for leaf in leaves()
    ]
    head = "# Reference: settings\n\nHow they are given is told in [Settings](settings.md).\n\n"
    return head + "| setting | variable | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)


def _default(leaf: Leaf) -> str:
    text = "" if leaf.path == "instance-id" else shown(leaf, Settings())
    return f"`{_cell(text)}`" if text else ""


def _metrics(told: str) -> str:
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", told, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", told, re.MULTILINE))
    # Since when a number is counted is told of each, and would double the list.
    own = {name: kind for name, kind in kinds.items() if not name.endswith("_created")}
    rows = [f"| `{name}` | {kind} | {_cell(helps.get(name, ''))} |" for name, kind in sorted(own.items())]
    head = "# Reference: metrics\n\nA server tells them at `/metrics`: [Operating](operating.md#metrics).\n\n"
    return head + "| metric | kind | says |\n|---|---|---|\n" + "\n".join(rows)


def _endpoints(document: Mapping[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            role = operation.get("x-role") or "open"
            answers = ", ".join(operation["responses"])
            row = (
                f"| `{method.upper()} {path}` | {_cell(operation.get('summary', ''))} | {role} | {answers} |"
            )
            by_tag.setdefault(operation.get("tags", ["other"])[0], []).append(row)
    parts = [
        "# Reference: endpoints",
        "A running server shows their parameters and shapes at `/docs`; more in [API](api.md).",
    ]
    for tag, rows in sorted(by_tag.items()):
        parts += [f"## {tag}", "| endpoint | does | role | answers |\n|---|---|---|---|\n" + "\n".join(rows)]
    return "\n\n".join(parts)


def _commands() -> str:
    parts = [
        "# Reference: commands",
        "As `--help` tells them; more of each in [The command line](command-line.md).",
    ]
    for name, command in commands():
        context = typer.Context(command, info_name=name)
        parts += [f"## `{name}`", f"```text\n{_help(command, context)}\n```"]
    return "\n\n".join(parts)


def _help(command: Any, context: typer.Context) -> str:
    """In plain words: Typer's own boxes are for terminals."""
    usage = command.get_usage(context)
    words = [usage, "", (command.help or "").strip()]
    options = [each.get_help_record(context) for each in command.get_params(context)]
    return "\n".join([*words, "", *(f"  {record[0]}  {record[1]}" for record in options if record)]).strip()


def commands() -> Iterator[tuple[str, Any]]:
    """Every command, with the names that lead to it."""
    yield from _below("muster", typer.main.get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    # Typer has a Click of its own, so a group is not known by the class of the other.
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for each, one in inner.items():
        yield from _below(f"{name} {each}", one)
