"""Throws at a real server, for every operation of its own OpenAPI document, requests that fit it and others.

No answer is a fault of ours, none is undocumented, and nothing that breaks the document is taken.

Run: `python tests/fuzz/fuzz_api.py --count 200 [--seed N]`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx

from furnished import furnished
from polling import PATIENCE
from servers import Server

HERE = Path(__file__).parent
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
# Nobody is asked who they are on loopback, and whether a body makes sense is more than its schema says.
LEFT_OUT = ["ignored_auth", "missing_required_header", "positive_data_acceptance"]
# They do not end, and so are not asked here: tests/scenario/test_streams_on_a_server.py reads them.
ENDLESS = "(/api/stream|/events)$"


def fuzz(folder: Path, count: int, seed: int, phases: str) -> subprocess.CompletedProcess[str]:
    """Up to so many requests for each operation."""
    server = Server(folder)
    server.settings = {
        "MUSTER_API_RATE_LIMIT": "0",
        "MUSTER_SECRET_KEY": b64encode(bytes(32)).decode(),
        "MUSTER_WHATSAPP_VERIFY_TOKEN": "verify",
        "MUSTER_WHATSAPP_APP_SECRET": "secret",
    }
    server.start()
    try:
        ended = _run(server, count, seed, phases)
        log = (folder / "log").read_text()
    finally:
        server.clean_up()
    ours = [line for line in log.splitlines() if '"level":"error"' in line or "Traceback" in line]
    assert not ours, "\n".join(ours)
    return ended


def _run(server: Server, count: int, seed: int, phases: str) -> subprocess.CompletedProcess[str]:
    base = f"http://127.0.0.1:{server.port}"
    things = [furnished(base, {}, f"mark{name}", name).ids for name in ("kept", "spare")]
    (server.folder / "things.json").write_text(
        json.dumps({"seed": seed, "kept": things[0], "spare": things[1]})
    )
    document = httpx.get(f"{base}/openapi.json", timeout=PATIENCE, trust_env=False).json()
    (server.folder / "openapi.json").write_text(json.dumps(without_security(document)))
    command = [
        *(str(SCHEMATHESIS), "run", "openapi.json", "--url", base, "--phases", phases),
        *("--max-examples", str(count), "--seed", str(seed), "--no-shrink", "--continue-on-failure"),
        *("--exclude-checks", ",".join(LEFT_OUT), "--exclude-path-regex", ENDLESS),
        *("--request-timeout", str(PATIENCE), "--warnings", "off", "--no-color"),
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "fuzz.api_hooks", "PYTHONPATH": str(HERE.parent)}
    return subprocess.run(
        command, cwd=server.folder, env=os.environ | hooks, capture_output=True, text=True, check=False
    )


def without_security(document: dict[str, Any]) -> dict[str, Any]:
    """As it holds on loopback without a provider."""
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ended = fuzz(Path(folder), given.count, given.seed, "examples,coverage,fuzzing,stateful")
    sys.stdout.write(ended.stdout + ended.stderr)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
