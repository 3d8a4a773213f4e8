"""What the README names is there. What it tells to type is typed by test_walked_pages.py."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_readme_names_only_files_that_exist() -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    used = re.findall(r"(?<![\w/.])@?((?:examples|docs|scripts|src|tests)/[\w./-]*\w)", README)
    named = {*linked, *used}
    assert {"docs/definitions.md", "CHANGELOG.md"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_readme_names_only_targets_that_make_has() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", README)) | set(re.findall(r"^make ([a-z-]+)", README, re.M))
    assert named <= targets
    assert "run" in named
