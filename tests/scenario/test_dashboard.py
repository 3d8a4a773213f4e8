"""The dashboard that ships shows what Muster tells: every metric and label in it is one that a server has."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry

from muster.app.build import opened
from muster.app.settings import Settings
from services_for_tests import installed, missing

OPS = Path(__file__).parents[2] / "ops"
DASHBOARD = json.loads((OPS / "grafana" / "muster.json").read_text())
RULES = yaml.safe_load((OPS / "prometheus" / "muster.rules.yml").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SHOWN = [target["expr"] for panel in PANELS for target in panel["targets"]]
ALERTED = [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]
NAME = re.compile(r"\b(?:muster|workflow|http|process)_[a-z_]+\b")
# What Prometheus adds to everything that it reads.
ADDED = {"instance", "job", "le"}


def metrics_of(expression: str) -> set[str]:
    return set(NAME.findall(re.sub(r"\{.*?\}|by \(.*?\)", "", expression)))


def labels_of(expression: str) -> set[str]:
    grouped = re.findall(r"by \((.*?)\)", expression)
    matched = re.findall(r"(\w+)\s*=~?\"", expression)
    return {name.strip() for group in grouped for name in group.split(",")} | set(matched)


@pytest.fixture
async def told(tmp_path: Path) -> dict[str, set[str]]:
    """What a server tells, by its names, and the labels of each. It has a Redis, where nobody answers."""
    settings = Settings.model_validate({"data_dir": str(tmp_path), "redis": {"url": "redis://127.0.0.1:1/0"}})
    with registered() as labels:
        async with opened(settings) as built:
            transport = httpx.ASGITransport(built.api, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                shown = (await client.get("/metrics")).text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", shown, re.MULTILINE))
    histograms = [name for name, kind in kinds.items() if kind == "histogram"]
    names = {*kinds, *(name + end for name in histograms for end in ("_bucket", "_sum", "_count"))}
    return {name: labels.get(name, set()) for name in names}


@contextmanager
def registered() -> Iterator[dict[str, set[str]]]:
    """The labels of whatever is registered meanwhile: what is not counted yet shows none."""
    found: dict[str, set[str]] = {}
    register = CollectorRegistry.register

    def heard(self: CollectorRegistry, collector: Any) -> None:
        register(self, collector)
        for name in self._collector_to_names.get(collector, ()):
            found[name] = set(getattr(collector, "_labelnames", ()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CollectorRegistry, "register", heard)
        yield found


@pytest.mark.parametrize("expressions", [SHOWN, ALERTED], ids=["dashboard", "rules"])
async def test_what_is_shown_and_alerted_on_is_what_a_server_tells(
    expressions: list[str], told: dict[str, set[str]]
) -> None:
    for expression in expressions:
        used = metrics_of(expression)
        assert used <= told.keys(), expression
        assert used or "up{" in expression, expression
        known = set().union(*(told[name] for name in used)) | ADDED
        assert labels_of(expression) <= known, expression


async def test_everything_that_a_server_tells_of_itself_is_on_the_dashboard(
    told: dict[str, set[str]],
) -> None:
    own = {name for name in told if name.startswith(("muster_", "workflow_kafka_"))}
    shown = {_family(name) for expression in SHOWN for name in metrics_of(expression)}
    assert {_family(name) for name in own if not name.endswith("_created")} - shown == {"muster_info"}


def _family(name: str) -> str:
    return re.sub(r"_(total|bucket|sum|count)$", "", name)


def test_prometheus_can_read_every_expression(tmp_path: Path) -> None:
    installed("prometheus")
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("prometheus")
    plain = [each.replace("$__rate_interval", "5m").replace("$instance", ".*") for each in SHOWN]
    rules = [{"record": f"panel:{place}", "expr": each} for place, each in enumerate(plain)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=none", file],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_have_a_place_a_sentence_and_the_source_that_is_chosen() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        here = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in here) < 24
        assert not here & taken, panel["title"]
        taken |= here
    variables = {each["name"] for each in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource", "instance"}
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"].endswith((".", "%"))
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert all(each == {"type": "prometheus", "uid": "${datasource}"} for each in sources)
        used: set[Any] = set(re.findall(r"\$(\w+)", " ".join(target["expr"] for target in panel["targets"])))
        assert used <= {"instance", "__rate_interval"}
