"""What Kubernetes and Compose take. Of Compose it is a tree of the names that we use: one that is not here is
a mistake, or has to be written down here first. Of Kubernetes it is what the oldest one that the chart is for
says of itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ANY = "anything"  # a value, or what a user fills in
TEXTS = "texts"  # a map of texts
_SERVICE = {
    "image": ANY,
    "build": {"context": ANY},
    "environment": TEXTS,
    "hostname": ANY,
    "command": ANY,
    "ports": ANY,
    "depends_on": {"*": {"condition": ANY}},
    "restart": ANY,
    "stop_grace_period": ANY,
    "read_only": ANY,
    "tmpfs": ANY,
    "cap_drop": ANY,
    "security_opt": ANY,
    "volumes": ANY,
    "healthcheck": {"test": ANY, "interval": ANY, "timeout": ANY, "retries": ANY, "disable": ANY},
}
COMPOSE = {"name": ANY, "x-muster": ANY, "services": {"*": _SERVICE}, "volumes": {"*": ANY}}


def flaws(value: Any, shape: Any, place: str = "") -> Iterator[str]:
    """Where a document is not of its shape. What is null is as if it were not there."""
    if value is None or shape == ANY:
        return
    if shape == TEXTS:
        if not isinstance(value, dict):
            yield f"{place}: not a map"
        else:
            yield from (
                f"{place}/{name}: not a text" for name, each in value.items() if not isinstance(each, str)
            )
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{place}: not a list"
            return
        for number, each in enumerate(value):
            yield from flaws(each, shape[0], f"{place}/{number}")
    elif not isinstance(value, dict):
        yield f"{place}: not a map"
    else:
        for name, each in value.items():
            inner = shape.get(name, shape.get("*"))
            if inner is None:
                yield f"{place}/{name}: unknown"
            else:
                yield from flaws(each, inner, f"{place}/{name}")


KUBERNETES: dict[str, Any] = json.loads(Path(__file__).with_name("kubernetes_1_25.json").read_text())


def refused(manifest: dict[str, Any]) -> Iterator[str]:
    """What Kubernetes has against it: names that it does not know, values of another type, gaps."""
    kind = KUBERNETES["kinds"].get(f"{manifest['apiVersion']} {manifest['kind']}")
    if kind is None:
        yield f"{manifest['kind']}: unknown"
        return
    validator = Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": KUBERNETES["$defs"]})
    for error in validator.iter_errors(manifest):
        yield f"{manifest['kind']}{error.json_path.removeprefix('$')}: {error.message}"
