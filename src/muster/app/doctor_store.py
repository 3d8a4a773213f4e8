"""The doctor's look at what is kept: the database, its schema and clock, the disk, the key of secrets."""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from muster.app.findings import Finding
from muster.app.settings import Settings
from muster.app.storage import (
    CannotOpen,
    database_name,
    missing_revisions,
    opened_storage,
    sqlite_file,
    vault_of,
)
from muster.store.address import parse_address
from muster.store.clock import DatabaseClock
from muster.store.database import Database, Unavailable
from muster.store.secrets import place
from muster.store.tables import secret
from muster.store.vault import Unreadable, Vault

if TYPE_CHECKING:
    from muster.store.hosts import Sight

MIB = 1024 * 1024
LITTLE, VERY_LITTLE = 1024 * MIB, 100 * MIB
FAR_APART = timedelta(seconds=30)
HOST_SECONDS = 5.0
IS_IT_THERE = "Is it running, and are DB_URL, DB_USER and DB_PASSWORD right?"


def folder(settings: Settings) -> Finding:
    try:
        file = sqlite_file(settings)
    except CannotOpen as error:
        return Finding("data folder", False, str(error), "Mend DB_URL.")
    if file is None:
        return Finding("data folder", True, "not needed")
    existing = _existing(file.parent)
    if os.access(existing, os.W_OK | os.X_OK):
        return Finding("data folder", True, str(file.parent))
    return Finding(
        "data folder", False, f"{existing} cannot be written", "Give this user the right, or set --data-dir."
    )


def disk(settings: Settings) -> Finding:
    """Of the data folder: SQLite's, and where files of schemas and logs are."""
    at = _existing(settings.data_dir)
    free = shutil.disk_usage(at).free
    found = f"{free / MIB:,.0f} MiB free at {at}"
    advice = "" if free >= LITTLE else "Make room: a database that cannot write stops everything."
    return Finding("disk space", free >= VERY_LITTLE, found, advice)


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


async def database(settings: Settings) -> list[Finding]:
    """Whether it is there; and if so, its migrations, its clock, and whether its secrets can be read."""
    try:
        name, file = database_name(settings), sqlite_file(settings)
        if file is not None and not file.exists():
            return [
                Finding("database", True, f"{name}, made at the first start"),
                Finding("migrations", True, "all are made at the first start"),
                _key(settings, ()),
            ]
        missing = await missing_revisions(settings)
    except CannotOpen as error:
        return [Finding("database", False, str(error), IS_IT_THERE)]
    found = [Finding("database", True, name)]
    if missing:
        told = f"{len(missing)} are missing, the first is {missing[0]}"
        return [*found, Finding("migrations", False, told, "`muster migrate` makes them.")]
    return [*found, Finding("migrations", True, "up to date"), *await _inside(settings)]


async def hosts(settings: Settings) -> list[Finding]:
    """Where the database's address names several: one takes writes, the others could."""
    url, password = settings.database.url, settings.database.password
    secret_word = password.get_secret_value() if password else None
    address = url and parse_address(url.get_secret_value(), settings.database.user, secret_word)
    if not address or "host" not in address.query:
        return []
    from muster.store.hosts import look  # here, since it loads the driver

    return [judge_hosts(await look(address, HOST_SECONDS))]


def judge_hosts(seen: "Sequence[Sight]") -> Finding:
    found = "; ".join(f"{each.place} {_how(each)}" for each in seen)
    writing = [each for each in seen if each.takes_writes]
    if len(writing) > 1:
        advice = "Stop the one that was left before it is written to: two histories cannot be made one."
        return Finding("hosts", False, found, advice)
    if not writing:
        return Finding("hosts", False, found, "Promote a standby, or start the primary.")
    if any(each.takes_writes is None for each in seen):
        return Finding("hosts", False, found, "Start it again as a standby: until then none takes over.")
    lost = "With synchronous_standby_names set, no standby lacks anything that was accepted."
    return Finding("hosts", True, found, "" if writing[0].waits else lost)


def _how(seen: "Sight") -> str:
    if seen.takes_writes is None:
        return f"cannot be reached ({seen.trouble})"
    return "takes writes" if seen.takes_writes else "is a standby"


async def _inside(settings: Settings) -> list[Finding]:
    try:
        async with opened_storage(settings) as stored:
            sealed = await stored.database.read(_sealed)
            return [await _clock(stored.database), _key(settings, sealed)]
    except (CannotOpen, Unavailable) as error:
        return [Finding("database", False, str(error), IS_IT_THERE)]


async def _clock(database: Database) -> Finding:
    clock = DatabaseClock(database, _Never())
    await clock.look()
    ahead = clock.now() - datetime.now(UTC)
    which = "ahead" if ahead > timedelta() else "behind"
    found = f"the database's is {abs(ahead.total_seconds()):.1f} s {which}"
    if abs(ahead) < FAR_APART:
        return Finding("clock", True, found)
    advice = (
        "Timers go by the database's clock, tokens and signatures by this machine's: set both (NTP, chrony)."
    )
    return Finding("clock", False, found, advice)


class _Never:
    """The clock before the first look: there is one."""

    def now(self) -> datetime:
        raise AssertionError("it was looked at")


def _sealed(connection: Connection) -> Sequence[tuple[str, str, str]]:
    columns = select(secret.c.institute_id, secret.c.name, secret.c.value)
    return [(row.institute_id, row.name, row.value) for row in connection.execute(columns)]


def _key(settings: Settings, sealed: Sequence[tuple[str, str, str]]) -> Finding:
    try:
        vault = vault_of(settings)
    except CannotOpen as error:
        return Finding("secrets key", False, str(error), "Mend MUSTER_SECRET_KEY.")
    if vault is None:
        if not sealed:
            return Finding("secrets key", True, "none: no secrets can be kept")
        advice = "Set MUSTER_SECRET_KEY to the key that they were encrypted with."
        return Finding("secrets key", False, f"none, and {len(sealed)} secrets are kept", advice)
    unreadable = [name for institute, name, value in sealed if not _opens(vault, institute, name, value)]
    if unreadable:
        advice = "Put the key that encrypted them behind the new one in MUSTER_SECRET_KEY, after a comma."
        return Finding("secrets key", False, f"it does not open {', '.join(sorted(unreadable)[:5])}", advice)
    older = sum(not vault.is_newest(value) for _, _, value in sealed)
    advice = f"`muster secrets encrypt-anew` brings {older} under the newest key." if older else ""
    return Finding("secrets key", True, f"it opens all {len(sealed)} secrets", advice)


def _opens(vault: Vault, institute_id: str, name: str, value: str) -> bool:
    try:
        vault.unseal(value, *place(institute_id, name))
    except Unreadable:
        return False
    return True
