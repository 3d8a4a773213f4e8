"""Whatever the built site leads to is in it: pages and places on them, pictures, files, what search finds."""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

AWAY = ("http:", "https:", "mailto:")


@dataclass
class Shown(HTMLParser):
    """What a page leads to and loads, and which places it has."""

    leads: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    up: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "href" in given:
            (self.leads if tag == "a" else self.loads).append(given["href"])
        if "src" in given:
            self.loads.append(given["src"])
        if "id" in given:
            self.places.append(given["id"])
        self.up = given.get("data-up", self.up)


@pytest.fixture(scope="module")
def shown(site: Path) -> dict[Path, Shown]:
    found = {}
    for path in site.rglob("*.html"):
        found[path] = Shown()
        found[path].feed(path.read_text())
    return found


def nowhere(link: str, page: Path, shown: dict[Path, Shown]) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return not (name or anchor) or not target.is_file() or bool(anchor and anchor not in shown[target].places)


def test_every_link_of_every_page_leads_to_a_file_and_a_place_that_are_there(
    shown: dict[Path, Shown],
) -> None:
    dead = [
        f"{page.name}: {link}"
        for page, found in shown.items()
        for link in found.leads
        if not link.startswith(AWAY) and nowhere(link, page, shown)
    ]
    assert dead == []
    assert sum(len(found.leads) for found in shown.values()) > 1_000


def test_every_page_loads_only_what_comes_with_the_site(shown: dict[Path, Shown]) -> None:
    wrong = [
        f"{page.name}: {link}"
        for page, found in shown.items()
        for link in found.loads
        if link.startswith(AWAY) or nowhere(link, page, shown)
    ]
    assert wrong == []
    assert any(link.endswith(".png") for found in shown.values() for link in found.loads)


def test_a_place_of_a_page_has_one_name(shown: dict[Path, Shown]) -> None:
    twice = [page.name for page, found in shown.items() if len(found.places) != len(set(found.places))]
    assert twice == []


def test_whatever_search_finds_is_there_from_every_page(site: Path, shown: dict[Path, Shown]) -> None:
    entries = json.loads((site / "index.js").read_text().removeprefix("const INDEX = ").removesuffix(";"))
    assert len(entries) > 300
    assert len({entry["href"] for entry in entries}) == len(entries), "two sections have two places"
    for page, found in shown.items():
        assert [entry["href"] for entry in entries if nowhere(found.up + entry["href"], page, shown)] == []
    assert re.search(r"href = UP \+ e\.href", (site / "search.js").read_text())
    assert any(found.up == "../" for found in shown.values()), "there are pages in folders"


def test_what_the_front_page_names_of_the_repository_comes_along(site: Path) -> None:
    front = (site / "index.html").read_text()
    for name in ("changelog.html", "contributing.html", "security.html", "repository/LICENSE"):
        assert f'href="{name}"' in front
    assert (site / "repository" / "examples" / "ledger-plugin" / "muster_ledger" / "__init__.py").exists()
