"""What ships: the wheel, installed where there was nothing, says its version and serves with the console
inside."""

import json
import re
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from console_for_tests import built
from locked import python_packages
from muster import __version__
from polling import PATIENCE
from servers import Server

ROOT = Path(__file__).parents[2]
RUNTIME = "requirements/runtime.txt"
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def uv(*arguments: object) -> None:
    done = subprocess.run(
        [UV, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in an environment that has the locked packages and the wheel."""
    if not built():
        pytest.skip("the console is not built; to build it: make console")
    folder = tmp_path_factory.mktemp("empty")
    python = folder / "env" / "bin" / "python"
    building = ("--wheel", "--offline", "--no-build-isolation", "--python", sys.executable)
    uv("build", *building, "-o", folder, ROOT)
    uv("venv", "--python", sys.executable, folder / "env")
    installing = ("pip", "install", "--python", python)
    uv(*installing, "--require-hashes", "--only-binary", ":all:", "-r", RUNTIME)
    # It asks for what it needs, and finds it: nothing else is within reach.
    uv(*installing, "--offline", "--no-index", *folder.glob("*.whl"))
    return python.with_name("muster")


class Installed(Server):
    def __init__(self, folder: Path, muster: Path) -> None:
        super().__init__(folder)
        self.muster = muster

    def command(self, *more: str) -> list[str]:
        return [str(self.muster), *super().command(*more)[1:]]

    def text(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
            found: bytes = answer.read()
        return found.decode()


@pytest.fixture
def server(muster: Path, tmp_path: Path) -> Iterator[Installed]:
    found = Installed(tmp_path, muster)
    yield found
    found.clean_up()


def healthy(server: Installed) -> bool:
    """What the image's health check finds."""
    [check] = re.findall(r"^HEALTHCHECK(?:.|\\\n)*?CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)
    command = [str(server.muster.with_name("python")), *json.loads(check)[1:]]
    environment = {"MUSTER_PORT": str(server.port)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode == 0


def test_it_asks_for_what_the_project_needs_and_the_lock_has_it(muster: Path) -> None:
    [wheel] = muster.parents[2].glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        [named] = [each for each in opened.namelist() if each.endswith(".dist-info/METADATA")]
        asked = message_from_bytes(opened.read(named)).get_all("Requires-Dist") or []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {str(Requirement(each)) for each in asked} == {
        str(Requirement(each)) for each in project["dependencies"]
    }
    locked = {each.name: each.version for each in python_packages((ROOT / RUNTIME).read_text()) if each.ships}
    for each in map(Requirement, asked):
        assert each.specifier.contains(locked[canonicalize_name(each.name)]), each
    uv("pip", "check", "--python", muster.with_name("python"))


def test_it_says_its_version_and_serves_with_the_console_inside(server: Installed, muster: Path) -> None:
    said = subprocess.run(
        [muster, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=True, cwd=server.folder
    )
    assert said.stdout == f"muster {__version__}\n"
    server.start()
    status, health = server.call("GET", "/actuator/health")
    assert (status, isinstance(health, dict) and health["status"]) == (200, "UP")
    assert healthy(server)
    page = server.text("/console/")
    scripts = re.findall(r'src="(/console/assets/[^"]+\.js)"', page)
    assert scripts, page
    assert all(server.text(script) for script in scripts)
