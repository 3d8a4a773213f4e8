"""The console, as somebody uses it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from muster.api.pages.console import BUILT
from polling import PATIENCE

# No sandbox: tests run as root. Nothing is fetched but what a test asks for.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EXAMPLES = Path(__file__).parents[1] / "examples"
expect.set_options(timeout=PATIENCE * 1000)


def built() -> bool:
    return (BUILT / "index.html").is_file()


@dataclass(frozen=True)
class Desk:
    page: Page
    base: str

    def open(self, path: str) -> None:
        self.page.goto(f"{self.base}/console{path}")

    def see(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()

    def press(self, name: str, exact: bool = True) -> None:
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def node(self, name: str) -> Locator:
        """A node on the canvas."""
        return self.page.locator(".react-flow__node", has=self.page.get_by_text(name, exact=True))

    def drag(self, source: Locator, target: Locator) -> None:
        """With the mouse, as a hand does it: over the way between, not at once."""
        begin, end = source.bounding_box(), target.bounding_box()
        assert begin is not None
        assert end is not None
        mouse = self.page.mouse
        mouse.move(begin["x"] + begin["width"] / 2, begin["y"] + begin["height"] / 2)
        mouse.down()
        mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=12)
        mouse.up()

    def paste(self, document: object) -> None:
        """Put a definition in the place of what the text tab holds."""
        text = document if isinstance(document, str) else json.dumps(document, indent=2)
        self.press("Text")
        editor = self.page.get_by_label("Definition", exact=True)
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def save(self) -> None:
        self.page.get_by_role("button", name="Save", exact=True).click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name=re.compile("^Save")).click()
        expect(dialog).to_be_hidden()

    def findings(self, axe: str) -> list[str]:
        """What axe finds serious on this page, in a line each."""
        self.page.evaluate(axe)
        found: dict[str, Any] = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {node['target']} {node['failureSummary'][:200]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]
