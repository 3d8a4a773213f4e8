#!/usr/bin/env python3
"""The documentation as a site that needs no network: scripts/site/build.py FOLDER

Pages are those of docs/ and those beside it, and references that are made from the code (reference.py). Links
between pages become links between files, and whatever else of the repository a page leads to comes along
(places.py); search runs in the browser, over an index that is a file of the site.
"""

import asyncio
import html
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from places import BESIDE, DOCS, HERE, ROOT, files_below, led_to, place_of
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# The parts of the site, in the order in which somebody new reads them. What is in none of them comes last.
PARTS = {
    "Begin": [
        "quick-start",
        "first-ten-minutes",
        "concepts",
        "tutorials",
        "installing",
        "console",
        "glossary",
    ],
    "Build": [
        "definitions",
        "nodes",
        "expressions",
        "executions",
        "waits",
        "commands",
        "triggers",
        "schedules",
    ],
    "Watch": ["watching", "watched-workflows", "wallboard", "alerts", "monitor-verify"],
    "Operate": [
        "operating",
        "doctor",
        "runbooks",
        "scale",
        "settings",
        "threat-model",
        "authentication",
        "tracing",
    ],
    "Prove": ["certify", "capsules", "conformance", "simulation", "testing", "comparison"],
    "Reference": [
        "reference-nodes",
        "reference-settings",
        "reference-metrics",
        "reference-endpoints",
        "reference-commands",
    ],
}


@dataclass(frozen=True)
class Page:
    """`folder` is where its links begin."""

    name: str
    text: str
    folder: Path = DOCS

    @property
    def title(self) -> str:
        found = re.search(r"^# (.+)$", self.text, re.MULTILINE)
        return found[1] if found else self.name

    @property
    def file(self) -> str:
        return f"{self.name}.html"


def slug(heading: str) -> str:
    """The anchor of a heading, as forges make it of one."""
    plain = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> list[str]:
    """Every anchor of a page; the second of one name has a number."""
    seen: dict[str, int] = {}
    found = []
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#{1,6} (.+)$", outside, re.MULTILINE):
        name = slug(heading)
        found.append(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def pages(references: dict[str, str]) -> list[Page]:
    written = [_read(path) for path in sorted(DOCS.rglob("*.md"))]
    beside = [
        Page(name, (ROOT / file).read_text(), ROOT) for file, name in {**BESIDE, "README.md": "index"}.items()
    ]
    made = [Page(name, text) for name, text in references.items()]
    return [*written, *beside, *made, *_folders([*written, *beside])]


def _read(path: Path) -> Page:
    return Page(str(path.relative_to(DOCS))[:-3], path.read_text(), path.parent)


def _folders(every: list[Page]) -> list[Page]:
    """A page for each folder of the repository that a page leads to: what it says of itself, its files."""
    found = {target for page in every for target in _targets(page) if target.is_dir()}
    return [_folder(path) for path in sorted(found)]


def _folder(path: Path) -> Page:
    readme = path / "README.md"
    head = readme.read_text() if readme.exists() else f"# {path.relative_to(ROOT)}\n"
    files = [str(each.relative_to(path)) for each in files_below(path)]
    listed = "\n".join(f"- [{name}]({name})" for name in files)
    return Page(place_of(path).removesuffix(".html"), f"{head}\n## Files\n\n{listed}\n", path)


def _targets(page: Page) -> set[Path]:
    links = (part.attrGet("href") for token in _parser().parse(page.text) for part in token.children or ())
    return {target for link in links if (target := led_to(link, page.folder)[0]) is not None}


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"highlight": _coloured}).enable("table")


def render(page: Page) -> str:
    parser = _parser()
    tokens = parser.parse(page.text)
    names = iter(anchors(page.text))
    for token in tokens:
        if token.type == "heading_open":
            token.attrSet("id", next(names))
        for part in token.children or ():
            for attribute in ("href", "src"):
                _lead(part, attribute, page)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _lead(token: Token, attribute: str, page: Page) -> None:
    """A link into the repository becomes one to the place that this has in the site."""
    target, anchor = led_to(token.attrGet(attribute), page.folder)
    if target is not None:
        token.attrSet(attribute, up_from(page) + place_of(target) + anchor)


def up_from(page: Page) -> str:
    return "../" * page.name.count("/")


def _coloured(code: str, language: str, _: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def navigation(every: list[Page], here: Page, up: str) -> str:
    by_name = {page.name: page for page in every}
    listed = {name for names in PARTS.values() for name in names}
    rest = [page.name for page in every if page.name not in listed and not page.name.endswith("index")]
    lines = []
    for part, names in {**PARTS, "More": rest}.items():
        lines.append(f"<h2>{part}</h2><ul>")
        for name in names:
            if (page := by_name.get(name)) is not None:
                current = ' aria-current="page"' if page is here else ""
                lines.append(f'<li><a href="{up}{page.file}"{current}>{html.escape(page.title)}</a></li>')
        lines.append("</ul>")
    return "".join(lines)


def whole(page: Page, every: list[Page]) -> str:
    up = up_from(page)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(page.title)}: Muster</title>"
        f'<link rel="stylesheet" href="{up}site.css"><div class="frame"><nav aria-label="Pages">'
        f'<a href="{up}index.html"><strong>Muster</strong></a>'
        f'<p><input id="search" type="search" aria-label="Search" placeholder="Search"></p>'
        f'<ul id="found" aria-live="polite"></ul>{navigation(every, page, up)}</nav>'
        f"<main>{render(page)}</main></div>"
        f'<script src="{up}index.js"></script><script src="{up}search.js" data-up="{up}"></script></html>'
    )


def index(every: list[Page]) -> str:
    """What search looks through: a section an entry."""
    return f"const INDEX = {json.dumps([entry for page in every for entry in entries(page)])};"


def entries(page: Page) -> list[dict[str, str]]:
    headings = [token for token in _parser().parse(page.text) if token.type == "heading_open"]
    lines = page.text.splitlines()
    starts = [token.map[0] for token in headings if token.map is not None]
    found = []
    for anchor, start, end in zip(anchors(page.text), starts, [*starts[1:], len(lines)], strict=True):
        heading = lines[start].lstrip("# ")
        title = heading if heading == page.title else f"{page.title}: {heading}"
        text = "\n".join([heading, *lines[start + 1 : end]]).lower()[:2_000]
        found.append({"title": title, "href": f"{page.file}#{anchor}", "text": text})
    return found


def build(folder: Path, references: dict[str, str]) -> list[Page]:
    every = pages(references)
    shutil.rmtree(folder, ignore_errors=True)
    for page in every:
        target = folder / page.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(whole(page, every))
    for path in _brought(every):
        target = folder / place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    light, dark = (HtmlFormatter(style=style).get_style_defs("pre") for style in ("default", "github-dark"))
    colours = f"@media(prefers-color-scheme:light){{{light}}}@media(prefers-color-scheme:dark){{{dark}}}"
    (folder / "site.css").write_text(colours + (HERE / "site.css").read_text())
    (folder / "search.js").write_text((HERE / "search.js").read_text())
    (folder / "index.js").write_text(index(every))
    return every


def _brought(every: list[Page]) -> set[Path]:
    """Pictures, and what pages lead to that is no page."""
    pictures = {path for path in DOCS.rglob("*") if path.suffix in (".png", ".svg")}
    linked = {path for page in every for path in _targets(page) if path.is_file()}
    return pictures | {path for path in linked if not place_of(path).endswith(".html")}


if __name__ == "__main__":
    from reference import references

    made = build(Path(sys.argv[1]), asyncio.run(references()))
    print(f"{len(made)} pages in {sys.argv[1]}")
