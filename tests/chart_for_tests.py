"""Renders our Helm chart: the few constructs of Go's templates that it keeps to, and no others. `make helm`
holds this against the real thing."""

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[1] / "ops" / "helm" / "muster"
_TAG = re.compile(r"(\s*)\{\{-\s*(.*?)\s*\}\}|\{\{\s*(.*?)\s*\}\}", re.DOTALL)
# What each is held against the real one with: every branch is taken.
CASES: Mapping[str, Mapping[str, Any]] = {
    "as it comes": {},
    "with everything": {
        "secrets": {"DB_URL": "postgresql://muster:hush@db/muster", "MUSTER_SECRET_KEY": "k"},
        "autoscaling": {"enabled": True},
        "image": {"tag": "1.2.3"},
        "imagePullSecrets": [{"name": "registry"}],
        "serviceAccount": {"name": "workflows", "annotations": {"team": "platform"}},
        "podAnnotations": {"prometheus.io/scrape": "true"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "batch", "operator": "Exists"}],
        "service": {"annotations": {"note": "inside"}},
    },
    "with a secret of one's own": {
        "existingSecret": "mine",
        "migrations": {"enabled": False},
        "disruptionBudget": {"enabled": False},
        "serviceAccount": {"create": False, "name": "theirs"},
    },
}


def rendered(changes: Mapping[str, Any], release: str = "shop") -> list[dict[str, Any]]:
    """The manifests, with these values changed."""
    values = _merged(yaml.safe_load((CHART / "values.yaml").read_text()), changes)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    known = {
        "Values": values,
        "Release": {"Name": release, "Namespace": "default"},
        "Chart": {"AppVersion": chart["appVersion"]},
    }
    found: list[dict[str, Any]] = []
    for path in sorted((CHART / "templates").glob("*.yaml")):
        found += [each for each in yaml.safe_load_all(render(path.read_text(), known)) if each]
    return found


def render(template: str, known: Mapping[str, Any]) -> str:
    """A template's text. Raises `ValueError` for what it may not have in it."""
    out: list[str] = []
    showing = [True]
    for text, tag in _pieces(template):
        if showing[-1]:
            out.append(text)
        words = tag.split(maxsplit=1)
        if not words:
            continue
        match words[0]:
            case "if":
                rest = words[1]
                wanted = not rest.startswith("not ")
                asked = _value(rest.removeprefix("not "), known)
                showing.append(showing[-1] and bool(asked) is wanted)
            case "end":
                showing.pop()
            case _:
                out.append(str(_value(tag, known)) if showing[-1] else "")
    if showing != [True]:
        raise ValueError("an `if` without an `end`")
    return "".join(out)


def _pieces(template: str) -> Iterator[tuple[str, str]]:
    """Text, and the tag behind it. One that begins with `{{-` takes the room before it away."""
    place = 0
    for found in _TAG.finditer(template):
        yield template[place : found.start()], found[2] if found[2] is not None else found[3]
        place = found.end()
    yield template[place:], ""


def _value(expression: str, known: Mapping[str, Any]) -> Any:
    first, *pipes = [part.strip() for part in expression.split("|")]
    value = _called(first.split(), known)
    for pipe in pipes:
        name, *arguments = pipe.split()
        match name:
            case "nindent":
                room = " " * int(arguments[0])
                value = "\n" + "\n".join(room + line for line in str(value).splitlines())
            case "default":
                value = value or _called(arguments, known)
            case "sha256sum":
                value = hashlib.sha256(str(value).encode()).hexdigest()
            case _:
                raise ValueError(f"this chart does without `{name}`")
    return value


def _called(words: list[str], known: Mapping[str, Any]) -> Any:
    if words[0] == "toYaml":
        return yaml.safe_dump(_called(words[1:], known), default_flow_style=False).removesuffix("\n")
    if len(words) != 1 or not words[0].startswith("."):
        raise ValueError(f"this chart does without `{words[0]}`")
    value: Any = known
    for name in words[0][1:].split("."):
        value = value[name]
    return value


def _merged(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    changed = {
        name: _merged(values[name], change)
        if isinstance(change, Mapping) and isinstance(values.get(name), dict)
        else change
        for name, change in changes.items()
    }
    return {**values, **changed}


def _by_helm(helm: str, changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    command = [helm, "template", "shop", str(CHART), "--kube-version", "1.33", "--values", "-"]
    done = subprocess.run(
        command, input=yaml.safe_dump(dict(changes)), stdout=subprocess.PIPE, text=True, check=True
    )
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def _told(manifests: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """By kind and name. Digests of settings differ where YAML is written otherwise, and so are left out."""
    for each in manifests:
        notes = each.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
        for name in ("muster/config", "muster/secrets"):
            notes.pop(name, None)
    return {(each["kind"], each["metadata"]["name"]): each for each in manifests}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("helm", help="the program")
    helm = parser.parse_args().helm
    subprocess.run([helm, "lint", "--strict", "--quiet", str(CHART)], check=True)
    different = [name for name, each in CASES.items() if _told(_by_helm(helm, each)) != _told(rendered(each))]
    sys.stdout.write(f"rendered otherwise: {different}\n" if different else "helm renders the same\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
