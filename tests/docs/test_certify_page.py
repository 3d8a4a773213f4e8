"""What the page about certificates shows is so."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from muster.app.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "certify.md").read_text()
SHOWN = re.findall(r"^```console\n\$ muster (certify [^\n]*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def steady(text: str) -> str:
    """Without numbers: how many commits there are is the engine's affair, and changes with it."""
    return re.sub(r" +", " ", re.sub(r"[0-9]+", "N", text))


@pytest.mark.parametrize(("command", "answer"), SHOWN, ids=[str(place) for place in range(len(SHOWN))])
def test_a_certificate_is_as_the_page_shows_it(
    command: str, answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["muster", *shlex.split(command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert steady(capsys.readouterr().out) == steady(answer)
    assert bool(ended.value.code) == ("NOT certified" in answer)


def test_the_page_shows_one_that_does_not_hold_and_every_demo_workflow() -> None:
    assert [("NOT certified" in answer) for _, answer in SHOWN].count(True) == 1
    demos = (ROOT / "src" / "muster" / "app" / "demo_workflows").glob("*.json")
    shown = [command.split()[1] for command, _ in SHOWN]
    assert {str(path.relative_to(ROOT)) for path in demos} <= set(shown)
