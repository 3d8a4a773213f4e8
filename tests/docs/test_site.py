"""The site has a page for everything; no link leads nowhere; every alert has its runbook."""

import itertools
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "scripts" / "site"))

from build import anchors  # type: ignore[import-not-found]  # noqa: E402  # a script's folder, no package
from reference import commands  # type: ignore[import-not-found]  # noqa: E402  # likewise

PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
RULES = yaml.safe_load((ROOT / "ops" / "prometheus" / "muster.rules.yml").read_text())
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_site_has_every_page_of_the_documentation(site: Path) -> None:
    names = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert {"index.html", "quick-start.html", "runbooks.html", "reference-nodes.html"} <= names
    assert {str(page.relative_to(DOCS).with_suffix(".html")) for page in DOCS.rglob("*.md")} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_leads_nowhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{page.name}: {link}"


def test_every_alert_has_a_runbook_and_leads_to_it() -> None:
    found = anchors((DOCS / "runbooks.md").read_text())
    alerts = [rule for group in RULES["groups"] for rule in group["rules"]]
    assert len(alerts) > 10
    for rule in alerts:
        name = rule["alert"].lower()
        assert rule["annotations"]["runbook"] == f"docs/runbooks.md#{name}"
        assert name in found
    assert len(found) == 1 + len(alerts), "there is no runbook of what is no alert"


def test_every_runbook_says_what_it_means_where_to_look_and_what_to_do() -> None:
    for section in re.split(r"^## ", (DOCS / "runbooks.md").read_text(), flags=re.MULTILINE)[1:]:
        assert [word for word in ("**Means**", "**Look**", "**Do**") if word not in section] == [], section[
            :40
        ]


def typed_commands(page: Path) -> set[tuple[str, ...]]:
    """The commands of Muster that a page names, without what they are given."""
    text = page.read_text()
    blocks = "\n".join(code for kind, code in CODE.findall(text) if kind in ("sh", "console"))
    lines = re.findall(r"^(?:\$ )?muster ([^\n|#]*)", blocks, re.MULTILINE)
    named = [*re.findall(r"`muster ([^`\n]*)`", text), *lines]
    return {tuple(found) for one in named if (found := _words(one))}


def _words(command: str) -> list[str]:
    return list(itertools.takewhile(lambda word: re.fullmatch(r"[a-z][a-z-]*", word), command.split()))[:2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_is_there(page: Path) -> None:
    there = {tuple(name.removeprefix("muster ").split()) for name, _ in commands()}
    alone = {name[0] for name in there if len(name) == 1}
    groups = {name[0] for name in there if len(name) == 2}
    missing = [
        words
        for words in typed_commands(page)
        if words not in there and words[0] not in alone and not (len(words) == 1 and words[0] in groups)
    ]
    assert missing == []
