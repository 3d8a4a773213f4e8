"""What the quick start and the tutorials tell a newcomer to type is typed here, on a real server."""

import os
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from polling import PATIENCE
from servers import MUSTER, Server

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# As on the page, but that whatever is refused ends it, and what comes in a moment is looked for until it is.
FRAME = """
set -euo pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; echo; }
soon() { for _ in $(seq 120); do if "$@"; then return; fi; sleep 0.5; done; exit 1; }
shown() { while read -r line; do grep -qF -- "$line" answer || { cat answer >&2; return 1; }; done < "$1"; }
"""


def script(page: str, folder: Path, port: int) -> str:
    """All that is to be typed, in its order, and after each block whether what is shown came."""
    lines = [FRAME]
    blocks = [*BLOCK.findall((DOCS / page).read_text().replace(":8080", f":{port}")), ("", "")]
    for place, ((kind, text), (after, expected)) in enumerate(pairwise(blocks)):
        if kind != "sh":
            continue
        (folder / f"typed-{place}").write_text(f"set -e\n{text}")
        (folder / f"expected-{place}").write_text(expected if after == "text" else "")
        lines.append(f"look() {{ . ./typed-{place} > answer 2>&1 && shown expected-{place}; }}")
        if text.startswith("# in a moment"):
            lines.append("soon look")
        else:
            lines.append(f". ./typed-{place} > answer 2>&1\nshown expected-{place}")
    return "\n".join(lines)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path / "data")
    found.folder.mkdir()
    found.start()
    yield found
    found.clean_up()


@pytest.mark.parametrize("page", ["quick-start.md", "tutorials.md"])
def test_what_a_page_tells_to_type_comes_to_what_it_shows(page: str, server: Server, tmp_path: Path) -> None:
    typed = script(page, tmp_path, server.port)
    own = {"PATH": f"{MUSTER.parent}:{os.environ['PATH']}", "MUSTER_PORT": str(server.port), "TERM": "dumb"}
    own |= {"MUSTER_DATA_DIR": str(server.folder)}
    done = subprocess.run(
        ["bash", "-c", typed],
        cwd=tmp_path,
        env=server.environment() | own,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    answer = tmp_path / "answer"
    assert done.returncode == 0, done.stdout + done.stderr + (answer.read_text() if answer.exists() else "")
