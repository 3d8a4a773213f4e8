"""`muster certify`: what it says, to people and to programs, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from muster.app.cli import main

COUNTS = {
    "workflow": {"key": "counts", "name": "Counts"},
    "nodes": [{"id": "counts", "type": "ACTION", "config": {"actionType": "updateStudentStatus"}}],
}
WAITS = {
    "workflow": {"key": "waits", "name": "Waits", "output": {"had": "#{nodeOutputs.waits.receivedEvents}"}},
    "nodes": [
        {
            "id": "waits",
            "type": "wait_events",
            "config": {
                "events": [{"name": "a", "source": "callback"}, {"name": "b", "source": "callback"}],
                "aggregationStrategy": "any",
            },
        }
    ],
}


class Certify:
    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def file(self, content: Any, name: str = "workflow.json") -> str:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it says; on standard error, if that is where it ends."""
        self._monkeypatch.chdir(self.folder)
        self._monkeypatch.setattr(sys, "argv", ["muster", "certify", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        assert (ended.value.code or 0) == code, out + err
        return out + err


@pytest.fixture
def certify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Certify:
    return Certify(tmp_path, monkeypatch, capsys)


def test_a_repeat_that_nobody_recognises_fails_and_is_told_by_its_node(certify: Certify) -> None:
    said = certify(certify.file(COUNTS), code=1)
    assert said.startswith("counts: NOT certified\n")
    assert "LOST      nothing" in said
    assert "counts  action updateStudentStatus  NO" in said
    assert "--accept counts" in said
    assert certify(certify.file(COUNTS), "--accept", "counts").startswith("counts: certified\n")


def test_an_action_of_ones_own_is_known_by_its_sql(certify: Certify) -> None:
    document = json.loads(json.dumps(COUNTS).replace("updateStudentStatus", "book"))
    keyed = certify.file({"actions": {"book": "INSERT INTO bookings (id) VALUES (:_key)"}}, "own.json")
    assert "counts  action book  yes" in certify(certify.file(document), "--registered", keyed)


def test_that_the_order_decides_is_no_failure_unless_strictly(certify: Certify) -> None:
    file = certify.file(WAITS)
    said = certify(file, "--runs", "20")
    assert "the outcome depends on it:" in said
    assert "waits: b before waits: a" in said
    assert "--strict: the outcome depends on the order" in certify(file, "--strict", "--runs", "20", code=1)


def test_programs_get_json_and_pages_a_badge(certify: Certify) -> None:
    file, badge = certify.file(WAITS), certify.folder / "badge.svg"
    told = json.loads(certify(file, "--json", "--badge", str(badge), "--runs", "20"))
    assert (told["certified"], told["lost"], told["dependsOnOrder"]) == (True, [], True)
    assert [outcome["output"] for outcome in told["outcomes"]] == [{"had": ["a"]}, {"had": ["b"]}]
    assert told["timeouts"][0]["status"] == "FAILED"
    assert told["runs"]["total"] == told["runs"]["ways"] + told["runs"]["crashes"]
    title = ElementTree.parse(badge).getroot().find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == f"muster: certified, {told['runs']['total']} runs"


def test_what_was_left_out_is_said(certify: Certify) -> None:
    said = certify(certify.file(WAITS), "--runs", "4")
    assert "more crashes left out" in said
    assert "more ways left out" in said


def test_the_world_answers_as_it_is_told_to(certify: Certify) -> None:
    node = {
        "id": "asks",
        "type": "REST_SYNC",
        "config": {"url": "https://x/", "outputMapping": {"n": "$.body.n"}},
    }
    document = {"workflow": {"name": "Asks", "output": "#{n + m}"}, "nodes": [node]}
    replies = certify.file("asks: {body: {n: 40}}", "replies.yaml")
    said = certify(certify.file(document), "--replies", replies, "--context", '{"m": 2}', "--json")
    assert json.loads(said)["outcomes"][0]["output"] == 42


def test_what_is_no_workflow_is_told_as_validate_tells_it(certify: Certify) -> None:
    wrong = certify.file({"workflow": {"name": "x", "nodes": [{"type": "SEND_EMIAL"}]}})
    said = certify(wrong, code=1)
    assert "error UNKNOWN_NODE_TYPE at" in said
    assert "SEND_EMAIL" in said
    assert "1 error" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.json"], "nowhere.json: No such file"),
        (["workflow.json", "--replies", "replies.json"], "There is no node `wait`. Did you mean `waits`?"),
        (["workflow.json", "--accept", "wiats"], "--accept: There is no node `wiats`. Did you mean `waits`?"),
        (["workflow.json", "--context", "[]"], "--context must be an object."),
        (["workflow.json", "--registered", "replies.json"], "`wait` is not known"),
        (["workflow.json", "--badge", "nowhere/badge.svg"], "nowhere/badge.svg cannot be written"),
    ],
    ids=["file", "replies", "accept", "context", "registered", "badge"],
)
def test_what_cannot_be_used_ends_with_2_and_a_sentence(
    certify: Certify, arguments: list[str], told: str
) -> None:
    certify.file(WAITS)
    certify.file({"wait": {}}, "replies.json")
    assert told in certify(*arguments, "--runs", "1", code=2)


def test_every_process_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "waits.json"
    file.write_text(json.dumps(WAITS))
    command = [str(Path(sys.executable).parent / "muster"), "certify", str(file), "--json", "--runs", "6"]
    said = {
        subprocess.run(
            command,
            capture_output=True,
            check=True,
            timeout=240,
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
