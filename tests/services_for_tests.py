"""Real services, asked for by the tests that need them; `scripts/services.py` starts them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "services.py"
NOT_INSTALLED = 3


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def may_install() -> bool:
    return in_ci() or os.environ.get("TEST_SERVICES_INSTALL") == "1"


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def exports_of(text: str) -> dict[str, str]:
    words = [word for line in text.splitlines() for word in shlex.split(line) if "=" in word]
    return dict(word.split("=", 1) for word in words)


def address_of(service: str, variable: str) -> str:
    """Where the service is: where `variable` says, or else the one of this checkout, started if need be.

    Skips the test if it is not installed and may not be; fails it if it does not start.
    """
    given = os.environ.get(variable)
    return given or started(service)[variable]


def installed(software: str) -> None:
    """Install it, if that is allowed."""
    if not may_install():
        return
    done = script("install", software)
    if done.returncode != 0:
        pytest.fail(f"{software} could not be installed: {done.stderr}", pytrace=False)


def missing(software: str) -> NoReturn:
    pytest.skip(f"{software} is not installed; to install it: scripts/services.py install {software}")


def started(service: str) -> dict[str, str]:
    """The addresses of the service of this checkout, by the name of the variable that would hold each."""
    installed(service)
    up = script("up", service)
    if up.returncode == NOT_INSTALLED:
        missing(service)
    if up.returncode != 0:
        pytest.fail(f"{service} did not start: {up.stderr}", pytrace=False)
    return exports_of(up.stdout)
