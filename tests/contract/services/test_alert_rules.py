"""Prometheus takes the alert rules that ship, they fire when they should, and what they read is told."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from services_for_tests import installed, missing

FOLDER = Path(__file__).parents[3] / "ops" / "prometheus"
SOURCES = Path(__file__).parents[3] / "src" / "muster"


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    installed("prometheus")
    found = shutil.which("promtool")
    if found is None:
        missing("prometheus")
    return subprocess.run([found, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "what", [("check", "rules", "muster.rules.yml"), ("test", "rules", "muster.rules.test.yml")]
)
def test_the_rules_are_taken_and_fire_when_they_should(what: tuple[str, ...]) -> None:
    done = promtool(*what)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_seen_to_fire_and_not_to() -> None:
    rules = yaml.safe_load((FOLDER / "muster.rules.yml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    tests = yaml.safe_load((FOLDER / "muster.rules.test.yml").read_text())["tests"]
    tried = [
        (each["alertname"], bool(each["exp_alerts"])) for test in tests for each in test["alert_rule_test"]
    ]
    assert {name for name, fires in tried if fires} == alerts
    assert {name for name, fires in tried if not fires} == alerts


def test_what_the_rules_read_is_what_muster_tells() -> None:
    rules = (FOLDER / "muster.rules.yml").read_text()
    read = set(re.findall(r"muster_[a-z_]+", rules))
    told = "\n".join(path.read_text() for path in SOURCES.rglob("*metrics*.py"))
    told += "\n".join((SOURCES / "app" / name).read_text() for name in ("engine.py", "self_check.py"))
    ends = {"muster_executions_failed_total"}  # made of a name for each end
    unknown = [each for each in read - ends if re.sub(r"_(total|bucket)$", "", each) not in told]
    assert unknown == []
