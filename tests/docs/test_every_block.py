"""No block of code on any page goes unrun, unless a list says why, and what shows it instead."""

import re
import shlex
from fnmatch import fnmatchcase

import pytest

from shown_blocks import LANGUAGES, ROOT, every_block
from unrun_blocks import ELSEWHERE, NOT_HERE, is_left_out
from walked_pages import WALKS

RUNNABLE = [block for block in every_block() if block.language in LANGUAGES]
MAKEFILE = (ROOT / "Makefile").read_text()
MAKE = sorted(
    {
        line.partition("#")[0].removeprefix("$ ").strip()
        for block in RUNNABLE
        for line in block.text.splitlines()
        if line.removeprefix("$ ").startswith("make ")
    }
)


def test_every_block_is_typed_with_its_page_or_run_elsewhere_or_says_why_not() -> None:
    unknown = [block.name for block in RUNNABLE if block.page not in WALKS and not is_left_out(block)]
    assert unknown == []
    assert len(RUNNABLE) > 60


def test_a_block_has_a_language_that_says_whether_it_is_run() -> None:
    known = {*LANGUAGES, "text", "json", "yaml", "toml"}
    assert [block.name for block in every_block() if block.language not in known] == []


@pytest.mark.parametrize("name", [*ELSEWHERE, *NOT_HERE])
def test_what_is_on_a_list_is_on_a_page_still(name: str) -> None:
    assert any(fnmatchcase(block.name, name) for block in RUNNABLE)


def test_a_page_that_is_walked_has_something_to_type() -> None:
    typed = {block.page for block in RUNNABLE if not is_left_out(block)}
    assert sorted(typed) == sorted(WALKS)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_runs_a_block_elsewhere_knows_its_page(name: str) -> None:
    page = name.split()[0].rpartition("/")[2]
    assert page in (ROOT / ELSEWHERE[name]).read_text()


def test_what_shows_instead_that_a_block_is_right_is_there() -> None:
    assert [each.shown_by for each in NOT_HERE.values() if not (ROOT / each.shown_by).exists()] == []
    assert all(each.reason.endswith(".") for each in NOT_HERE.values())


@pytest.mark.parametrize("line", MAKE)
def test_make_knows_what_it_is_told_to_make(line: str) -> None:
    words = shlex.split(line)[1:]
    targets = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
    assert [word for word in words if "=" not in word and word not in targets] == []
    assert [word for word in words if "=" in word and f"$({word.partition('=')[0]})" not in MAKEFILE] == []
