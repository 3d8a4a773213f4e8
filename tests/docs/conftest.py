"""The site, made once for all tests that look at it."""

import asyncio
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))

from build import build  # type: ignore[import-not-found]  # noqa: E402  # a script's folder, no package
from reference import references  # type: ignore[import-not-found]  # noqa: E402  # likewise


@pytest.fixture(scope="session")
def made() -> dict[str, str]:
    found: dict[str, str] = asyncio.run(references())
    return found


@pytest.fixture(scope="session")
def site(made: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder / "site", made)
    return folder / "site"
