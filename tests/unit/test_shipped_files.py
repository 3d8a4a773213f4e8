"""What ships beside the package is right: image, Compose, chart and unit name only settings and commands that
are there, and fit together."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from chart_for_tests import CASES, CHART, render, rendered
from muster import __version__
from muster.app.cli import app
from muster.app.load import load
from muster.app.settings import OTHER_NAMES, Settings, leaves
from polling import PATIENCE
from services_for_tests import installed, missing
from shapes_for_tests import COMPOSE, flaws, refused

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSED = yaml.safe_load((ROOT / "ops" / "compose.yaml").read_text())
UNIT = ROOT / "ops" / "systemd" / "muster.service"
COMMANDS: Any = typer.main.get_command(app)


def settings_of(variables: Mapping[str, str], folder: Path) -> Settings:
    """What they set: raises for a name that is no setting, and for a value that it cannot have."""
    return load(variables, {}, folder).settings


def check_command(words: list[str]) -> None:
    """Raises for a command, or an option, that is not there."""
    COMMANDS.commands[words[0]].make_context(words[0], words[1:])


def test_a_command_that_is_not_there_would_be_noticed() -> None:
    with pytest.raises(KeyError):
        check_command(["sevre"])
    with pytest.raises(Exception, match="prot"):
        check_command(["serve", "--prot", "1"])


# --- Dockerfile ------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in whole)]


def those(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    last = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    last = dict(final_stage())
    user, _, group = last["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert "/health/ready" in last["HEALTHCHECK"]
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(last["ENTRYPOINT"]) == ["muster"]
    check_command(json.loads(last["CMD"]))


def test_what_the_image_sets_are_settings(tmp_path: Path) -> None:
    pairs = dict(pair.partition("=")[::2] for rest in those("ENV") for pair in shlex.split(rest))
    found = settings_of({name: value for name, value in pairs.items() if name != "PATH"}, tmp_path)
    assert (found.host, str(found.data_dir)) == ("0.0.0.0", "/data")


def test_whatever_is_installed_in_the_image_is_known_by_its_hash_or_was_built_there() -> None:
    runs = " && ".join(those("RUN"))
    installs = [part for part in runs.split("&&") if "pip install" in part]
    assert len(installs) == 2
    assert all("--require-hashes" in each or "--no-deps --no-index" in each for each in installs)


def test_the_stages_of_the_image_are_there_and_their_bases_have_tags() -> None:
    arguments = dict(rest.partition("=")[::2] for rest in those("ARG"))
    bases = [
        re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], rest.split()[0]) for rest in those("FROM")
    ]
    assert all(re.fullmatch(r"\w+:[\w.-]*\d[\w.-]*", base) for base in bases)
    stages = set(re.findall(r" AS (\w+)", DOCKERFILE))
    assert set(re.findall(r"--from=(\w+)", DOCKERFILE)) == stages == {"node", "build"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"RUN make (\S+)", DOCKERFILE)) <= targets


def test_the_health_check_of_the_image_fails_where_nobody_answers() -> None:
    """That it succeeds where somebody does is shown with the wheel."""
    command = health_check()
    environment = {"MUSTER_PORT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1


def health_check() -> list[str]:
    [check] = [rest for name, rest in final_stage() if name == "HEALTHCHECK"]
    command: list[str] = json.loads(check.partition("CMD ")[2])
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


# --- Compose ---------------------------------------------------------------------------------------------


def test_the_compose_file_has_nothing_that_compose_does_not_know() -> None:
    assert list(flaws(COMPOSED, COMPOSE)) == []


def test_the_services_of_compose_wait_for_such_as_are_there_and_say_how_they_are() -> None:
    services = COMPOSED["services"]
    assert {"muster", "migrate", "postgres", "kafka", "redis"} == services.keys()
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            other = services[needed]
            if how["condition"] == "service_healthy":
                assert "test" in other["healthcheck"], f"{name} waits for {needed}"
            else:
                assert how["condition"] == "service_completed_successfully"
                assert other["restart"] == "on-failure"
        named = [volume.partition(":")[0] for volume in service.get("volumes", ())]
        assert set(named) <= COMPOSED["volumes"].keys()
        assert name in ("muster", "migrate") or re.search(r":.*\d", service["image"])
    assert COMPOSED["services"]["muster"]["ports"] == ["127.0.0.1:8080:8080"], (
        "open, and so for this machine alone"
    )


@pytest.mark.parametrize("name", ["muster", "migrate"])
def test_what_compose_sets_and_runs_is_there(name: str, tmp_path: Path) -> None:
    service = COMPOSED["services"][name]
    variables = {
        key: re.sub(r"\$\{\w+:[?-][^}]*\}", "", value) for key, value in service["environment"].items()
    }
    found = settings_of(variables, tmp_path)
    assert found.kafka.bootstrap_servers
    assert found.redis.url
    check_command(service["command"])


# --- systemd ---------------------------------------------------------------------------------------------


def unit_lines(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def test_what_the_unit_sets_and_runs_is_there(tmp_path: Path) -> None:
    found = settings_of(dict(each.partition("=")[::2] for each in unit_lines("Environment")), tmp_path)
    assert str(found.data_dir) == f"/var/lib/{unit_lines('StateDirectory')[0]}"
    [command] = unit_lines("ExecStart")
    program, *words = shlex.split(command)
    assert Path(program).name == "muster"
    check_command(words)
    assert int(unit_lines("TimeoutStopSec")[0]) > max(found.api.shutdown_grace, found.engine.shutdown_grace)


def test_the_unit_says_how_to_install_as_the_page_about_installing_does() -> None:
    page = [line.partition("  #")[0] for line in (ROOT / "docs" / "installing.md").read_text().splitlines()]
    told = re.findall(r"^#   (.+)$", UNIT.read_text(), re.MULTILINE)
    assert len(told) == 5
    assert [line for line in told if line not in page] == []


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    installed("systemd")
    program = shutil.which("systemd-analyze")
    if program is None:
        missing("systemd")
    here = tmp_path / UNIT.name
    muster = Path(sys.executable).with_name("muster")
    here.write_text(UNIT.read_text().replace("/opt/muster/bin/muster", str(muster)))
    done = subprocess.run(
        [program, "verify", here], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert ours == []


# --- the chart -------------------------------------------------------------------------------------------


@pytest.fixture(params=CASES, scope="module")
def manifests(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return rendered(CASES[request.param])


def of(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in manifests if each["kind"] == kind]


def pods(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each["spec"]["template"] for each in manifests if each["kind"] in ("StatefulSet", "Job")]


def test_the_chart_renders_to_what_kubernetes_knows(manifests: list[dict[str, Any]]) -> None:
    assert [flaw for each in manifests for flaw in refused(each)] == []
    names = [(each["kind"], each["metadata"]["name"]) for each in manifests]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda one: one["spec"].update(replicas="two"), "StatefulSet.spec.replicas: 'two' is not of type"),
        (lambda one: one["spec"].update(replica=2), "StatefulSet.spec: Additional properties"),
        (lambda one: one["spec"].pop("selector"), "StatefulSet.spec: 'selector' is a required property"),
        (lambda one: one.update(kind="Statefulset"), "Statefulset: unknown"),
    ],
    ids=["type", "name", "missing", "kind"],
)
def test_a_manifest_that_kubernetes_would_not_take_would_be_noticed(
    spoil: Callable[[dict[str, Any]], object], told: str
) -> None:
    [instances] = of(rendered({}), "StatefulSet")
    spoil(instances)
    assert [flaw[: len(told)] for flaw in refused(instances)] == [told]


def test_what_kubernetes_takes_is_what_the_oldest_takes_that_the_chart_is_for() -> None:
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    assert oldest == ">=1.25.0-0"


def test_the_parts_of_the_chart_find_each_other(manifests: list[dict[str, Any]]) -> None:
    [instances] = of(manifests, "StatefulSet")
    labels = instances["spec"]["template"]["metadata"]["labels"]
    selectors = [each["spec"]["selector"] for each in of(manifests, "Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of(manifests, "PodDisruptionBudget")]
    selectors.append(instances["spec"]["selector"]["matchLabels"])
    assert all(each.items() <= labels.items() for each in selectors)
    services = {each["metadata"]["name"]: each for each in of(manifests, "Service")}
    assert services[instances["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    for scaling in of(manifests, "HorizontalPodAutoscaler"):
        target = scaling["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) == ("StatefulSet", instances["metadata"]["name"])
        assert "replicas" not in instances["spec"]
    for job in of(manifests, "Job"):
        own = job["spec"]["template"]["metadata"]["labels"]
        assert not any(each.items() <= own.items() for each in selectors), "nobody calls a migration"


def test_what_the_pods_name_is_in_the_chart_or_somebodys_own(manifests: list[dict[str, Any]]) -> None:
    made = {(each["kind"], each["metadata"]["name"]) for each in manifests}
    for pod in pods(manifests):
        spec = pod["spec"]
        account = spec["serviceAccountName"]
        assert ("ServiceAccount", account) in made or account == "theirs"
        [container] = spec["containers"]
        config, secret = container["envFrom"]
        assert ("ConfigMap", config["configMapRef"]["name"]) in made
        named = secret["secretRef"]["name"]
        assert ("Secret", named) in made or named == "mine"
        mounts = {each["name"] for each in container["volumeMounts"]}
        assert mounts <= {each["name"] for each in spec["volumes"]}
        ports = {each["name"] for each in container.get("ports", ())}
        probes = [container[name] for name in container if name.endswith("Probe")]
        assert all(probe["httpGet"]["port"] in ports for probe in probes)


def test_pods_are_nobodys_root_and_get_no_variables_that_would_be_taken_for_settings(
    manifests: list[dict[str, Any]],
) -> None:
    for pod in pods(manifests):
        spec = pod["spec"]
        # A service called `muster` would set MUSTER_PORT to an address.
        assert spec["enableServiceLinks"] is False
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        [container] = spec["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_what_the_chart_sets_and_runs_is_there(manifests: list[dict[str, Any]], tmp_path: Path) -> None:
    variables: dict[str, str] = dict(of(manifests, "ConfigMap")[0]["data"])
    for secret in of(manifests, "Secret"):
        variables |= secret["stringData"] or {}
    for pod in pods(manifests):
        [container] = pod["spec"]["containers"]
        variables |= {each["name"]: "shop-0" for each in container.get("env", ())}
        check_command(container["args"])
    found = settings_of(variables, tmp_path)
    [instances] = of(manifests, "StatefulSet")
    grace = instances["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > max(found.api.shutdown_grace, found.engine.shutdown_grace)


def test_the_settings_that_the_charts_values_propose_are_there(tmp_path: Path) -> None:
    text = (CHART / "values.yaml").read_text()
    proposed = dict(re.findall(r"^  # ([A-Z_]+): (\S+)", text, re.MULTILINE))
    assert {"DB_URL", "OIDC_ISSUER_URI"} <= proposed.keys()
    settings_of({**proposed, "MUSTER_SECRET_KEY": ""}, tmp_path)


def test_the_chart_is_of_this_version_and_its_image_the_dockerfiles_user() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    user = int(dict(final_stage())["USER"].partition(":")[0])
    assert {pod["spec"]["securityContext"]["runAsUser"] for pod in pods(rendered({}))} == {user}


def test_whatever_the_charts_templates_may_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="range"):
        render("{{- range .Values.x }}", {"Values": {"x": {}}})
    with pytest.raises(ValueError, match="indent"):
        render("{{ .Values.x | indent 3 }}", {"Values": {"x": 1}})


# --- the guide --------------------------------------------------------------------------------------------

GUIDE = (ROOT / "docs" / "installing.md").read_text()


def test_the_guide_names_only_files_targets_settings_and_commands_that_are_there(tmp_path: Path) -> None:
    named = set(re.findall(r"(?<![\w/.])((?:ops|requirements)/[\w./-]*\w)", GUIDE))
    assert "ops/helm/muster" in named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)`? ", GUIDE)) <= targets
    shown = set(re.findall(r"(?:`|bin/|run )muster ([a-z]+(?: --\w+)?)(?:`|\s)", GUIDE))
    assert {"serve", "migrate", "migrate --check", "doctor"} <= shown
    for command in shown:
        check_command(command.split())
    said = set(re.findall(r"\b((?:MUSTER|DB|OIDC|KAFKA|REDIS)_[A-Z_]+)\b", GUIDE))
    assert {"DB_URL", "MUSTER_INSECURE"} <= said
    known = {leaf.variable for leaf in leaves()} | set(OTHER_NAMES)
    assert said <= known


def test_the_values_that_the_guide_sets_are_the_charts() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for path in re.findall(r"--set ([\w.]+)=", GUIDE):
        head, _, rest = path.partition(".")
        assert head in values
        assert head == "config" or not rest or rest in values[head]
