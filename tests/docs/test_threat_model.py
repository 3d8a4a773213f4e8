"""Each threat that the page names has a test, and it is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat ")]


def test_every_threat_names_a_test_that_exists() -> None:
    assert len(ROWS) > 25
    for row in ROWS:
        test = row.split("|")[3]
        files = re.findall(r"`((?:unit|contract|scenario|fuzz)/[\w./-]+)`", test)
        assert files or test.strip().startswith("the same"), row
        assert [name for name in files if not (ROOT / "tests" / name).exists()] == []


def test_tests_that_are_named_in_part_are_there() -> None:
    named = re.findall(r"\(`(\w+)`(?:, `(\w+)`)?\)", PAGE)
    sources = "".join(path.read_text() for path in (ROOT / "tests").glob("[cs]*/**/test_*.py"))
    assert named
    assert [part for parts in named for part in parts if f"{part}" not in sources] == []
