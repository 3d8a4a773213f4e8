"""`muster secrets encrypt-anew`, beside a server."""

import base64
import json
import subprocess
from pathlib import Path

from servers import MUSTER, Server

OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def muster(server: Server, key: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(MUSTER), "secrets", "encrypt-anew", "--json"],
        env={**server.environment(), "MUSTER_SECRET_KEY": key, "MUSTER_DATA_DIR": str(server.folder)},
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_after_a_change_of_the_key_the_old_one_can_go(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.settings["MUSTER_SECRET_KEY"] = OLD
    try:
        server.start()
        server.call("POST", "/api/secrets", {"name": "token", "value": "s3cr3t-value"})
        refused = muster(server, NEW)
        assert refused.returncode == 3, refused.stdout
        assert "key" in refused.stderr
        assert [json.loads(muster(server, f"{NEW},{OLD}").stdout)["changed"] for _ in range(2)] == [1, 0]
        assert json.loads(muster(server, NEW).stdout) == {"changed": 0}
    finally:
        server.clean_up()
