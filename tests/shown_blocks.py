"""The fenced blocks of all pages, each by its name: the page, the language, and which of them it is there."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What is typed or run, as against what is shown.
LANGUAGES = ("sh", "console", "python", "js", "sql")


@dataclass(frozen=True)
class Block:
    """`is_answer`: it shows what the block right above it comes to."""

    page: str
    language: str
    number: int
    text: str
    is_answer: bool = False

    @property
    def name(self) -> str:
        return f"{self.page} {self.language} {self.number}"


def blocks(page: str) -> list[Block]:
    """Of a page, by its path in the repository; of each language they are counted from 1."""
    seen: dict[str, int] = {}
    found = []
    whole, last = (ROOT / page).read_text(), 0
    for shown in FENCE.finditer(whole):
        language = shown[1]
        seen[language] = seen.get(language, 0) + 1
        is_answer = language == "text" and bool(found) and not whole[last : shown.start()].strip()
        found.append(Block(page, language, seen[language], shown[2], is_answer))
        last = shown.end()
    return found


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks(str(page.relative_to(ROOT)))]


def block(name: str) -> Block:
    [found] = [each for each in blocks(name.split()[0]) if each.name == name]
    return found
