"""`muster run`: one execution in a terminal."""

import json
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def muster(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "muster"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_it_shows_every_node_and_ends_well_if_the_workflow_does() -> None:
    done = muster("run", str(EXAMPLES / "hello.json"), "--context", '{"name": "Ada"}')
    assert done.returncode == 0, done.stderr
    for shown in ("hello COMPLETED", "✓ greet", "✓ rest", "✓ log"):
        assert shown in done.stdout


def test_a_failure_ends_with_1_and_says_why() -> None:
    done = muster("run", str(EXAMPLES / "hello.json"))
    assert done.returncode == 1
    assert "there is no variable `name`" in done.stderr


def test_programs_get_json() -> None:
    done = muster("run", str(EXAMPLES / "hello.json"), "--context", '{"name": "Ada"}', "--json")
    result = json.loads(done.stdout)
    assert (result["status"], result["output"]) == ("COMPLETED", {"said": "Hello, Ada"})


def test_what_is_no_workflow_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"workflow": {"name": "x", "nodes": [{"type": "SEND_EMIAL"}]}}')
    done = muster("run", str(file))
    assert done.returncode == 1
    assert "SEND_EMAIL" in done.stderr
    assert "Traceback" not in done.stderr
