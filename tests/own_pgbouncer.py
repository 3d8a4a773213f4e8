"""A PgBouncer of one's own before a PostgreSQL: fewer connections than its clients have, shared between
transactions, and a different one for each."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from polling import poll
from ports import free_port
from services_for_tests import installed, missing

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import service_kinds  # from a folder that is no package, so it was put on the path

USER = "nobody"
SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
"""


@contextmanager
def own_pgbouncer(postgres_url: str) -> Iterator[str]:
    """The same database's address by way of the pooler, while the block runs. Skips the test where PgBouncer
    is not installed."""
    installed("pgbouncer")
    if not service_kinds.PGBOUNCER.is_installed():
        missing("pgbouncer")
    address, port = urlsplit(postgres_url), free_port()
    with tempfile.TemporaryDirectory(prefix="muster-pgbouncer-") as folder:
        home = Path(folder)
        home.chmod(0o755)  # it runs as another user
        settings = home / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=address.port, port=port))
        command = service_kinds.as_user(USER, ["pgbouncer", str(settings)])
        with (home / "service.log").open("wb") as log:
            process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log)
        try:
            poll(lambda: _answers(port))
            yield urlunsplit(address._replace(netloc=f"postgres@127.0.0.1:{port}"))
        finally:
            process.terminate()
            process.wait(20)


def _answers(port: int) -> bool:
    ready = service_kinds.Postgres()._bin("pg_isready")
    return service_kinds.answers([ready, "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres"])
