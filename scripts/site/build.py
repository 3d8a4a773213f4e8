#!/usr/bin/env python3
"""The documentation as a site that needs no network: scripts/site/build.py FOLDER

Pages are those of docs/, and references that are made from the code (reference.py). Links between pages
become links between files; search runs in the browser, over an index that is a file of the site.
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
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
# The parts of the site, in the order in which somebody new reads them. What is in none of them comes last.
PARTS = {
    "Begin": ["quick-start", "concepts", "tutorials", "installing", "console", "glossary"],
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
    "Watch": ["watching", "watched-workflows", "wallboard", "alerts"],
    "Operate": ["operating", "runbooks", "scale", "settings", "threat-model", "authentication", "tracing"],
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
    name: str
    text: str

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
    written = [
        Page(str(path.relative_to(DOCS))[:-3], path.read_text()) for path in sorted(DOCS.rglob("*.md"))
    ]
    return written + [Page(name, text) for name, text in references.items()]


def render(page: Page) -> str:
    parser = MarkdownIt("commonmark", {"highlight": _coloured}).enable("table")
    tokens = parser.parse(page.text)
    names = iter(anchors(page.text))
    for token in tokens:
        if token.type == "heading_open":
            token.attrSet("id", next(names))
        for part in token.children or ():
            _to_file(part)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _to_file(token: Token) -> None:
    """A link to a page is one to its file; what is outside of docs/ is in the repository, not here."""
    href = token.attrGet("href")
    if (
        token.type == "link_open"
        and isinstance(href, str)
        and not href.startswith(("http:", "https:", "#", "mailto:"))
    ):
        token.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", href) if not href.startswith("../") else "#")


def _coloured(code: str, language: str, _: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def navigation(every: list[Page], here: Page, up: str) -> str:
    by_name = {page.name: page for page in every}
    listed = {name for names in PARTS.values() for name in names}
    rest = [page.name for page in every if page.name not in listed and page.name != "index"]
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
    up = "../" * page.name.count("/")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(page.title)}: Muster</title>"
        f'<link rel="stylesheet" href="{up}site.css"><div class="frame"><nav aria-label="Pages">'
        f'<a href="{up}index.html"><strong>Muster</strong></a>'
        f'<p><input id="search" type="search" aria-label="Search" placeholder="Search"></p>'
        f'<ul id="found" aria-live="polite"></ul>{navigation(every, page, up)}</nav>'
        f"<main>{render(page)}</main></div>"
        f'<script src="{up}index.js"></script><script src="{up}search.js"></script></html>'
    )


def index(every: list[Page]) -> str:
    """What search looks through: a section an entry."""
    entries = []
    for page in every:
        parts = re.split(r"^#{1,3} (.+)$", page.text, flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True):
            entry = {"title": heading if heading == page.title else f"{page.title}: {heading}"}
            entry |= {"href": f"{page.file}#{slug(heading)}", "text": f"{heading} {text}".lower()[:2_000]}
            entries.append(entry)
    return f"const INDEX = {json.dumps(entries)};"


def build(folder: Path, references: dict[str, str]) -> list[Page]:
    every = pages(references)
    shutil.rmtree(folder, ignore_errors=True)
    for page in every:
        target = folder / page.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(whole(page, every))
    for picture in DOCS.rglob("*"):
        if picture.suffix in (".png", ".svg"):
            target = folder / picture.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, target)
    light, dark = (HtmlFormatter(style=style).get_style_defs("pre") for style in ("default", "github-dark"))
    colours = f"@media(prefers-color-scheme:light){{{light}}}@media(prefers-color-scheme:dark){{{dark}}}"
    (folder / "site.css").write_text(colours + (HERE / "site.css").read_text())
    (folder / "search.js").write_text((HERE / "search.js").read_text())
    (folder / "index.js").write_text(index(every))
    return every


if __name__ == "__main__":
    from reference import references

    made = build(Path(sys.argv[1]), asyncio.run(references()))
    print(f"{len(made)} pages in {sys.argv[1]}")
