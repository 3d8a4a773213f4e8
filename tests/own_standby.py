"""A synchronous standby of a PostgreSQL of one's own, which has whatever a commit has answered, and takes its
place when told to."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from own_service import service_home, service_kinds
from polling import poll
from torture.own_postgres import FAST, OwnPostgres


class Pair:
    """The primary, the standby, and the address that has both."""

    def __init__(self, primary: OwnPostgres, standby: OwnPostgres, standby_data: Path) -> None:
        self.primary, self.standby, self._data = primary, standby, standby_data

    def address(self, database: str) -> str:
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in (self.primary, self.standby))
        return f"postgresql://postgres@{hosts}/{database}"

    def promote(self) -> None:
        """Make the standby the primary; it has no standby of its own then, and waits for none."""
        run("pg_ctl", "promote", "-D", str(self._data), "-w")

    async def wait_for_standby(self) -> None:
        """Until commits wait for it."""
        await asyncio.to_thread(poll, self._is_synchronous)

    def _is_synchronous(self) -> bool:
        return query(self.primary, "SELECT sync_state FROM pg_stat_replication") == "sync"


@contextmanager
def own_pair() -> Iterator[Pair]:
    """Both running while the block runs. Skips the test where PostgreSQL is not installed."""
    kind = service_kinds.Postgres()
    with service_home(kind) as home:
        primary, standby = OwnPostgres(home / "primary"), OwnPostgres(home / "standby")
        copy = home / "standby" / "data" / "cluster"
        try:
            primary.prepare()
            primary.start()
            copy.parent.mkdir(parents=True)
            if os.getuid() == 0:
                shutil.chown(copy.parent, kind.user)
            source = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres"]
            run("pg_basebackup", *source, "-D", str(copy), "-R", "-X", "stream", "-c", "fast", "--no-sync")
            standby.start()
            query(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
            query(primary, "SELECT pg_reload_conf()")
            yield Pair(primary, standby, copy)
        finally:
            primary.stop(signal.SIGQUIT)
            standby.stop(FAST)


def query(server: OwnPostgres, statement: str) -> str:
    where = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-d", "postgres"]
    return run("psql", *where, "-XAtq", "-c", statement).strip()


def run(program: str, *arguments: str, given: str = "") -> str:
    """One of PostgreSQL's own programs, as the server's user: what it writes is for the server."""
    kind = service_kinds.Postgres()
    command = service_kinds.as_user(kind.user, [kind._bin(program), *arguments])
    done = subprocess.run(command, cwd="/", input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
    return done.stdout
