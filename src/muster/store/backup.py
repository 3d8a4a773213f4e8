"""A copy of SQLite's database while others write to it."""

import os
import sqlite3
from pathlib import Path


class BadCopy(Exception):
    """The copy cannot be used; the message says why."""


def copy_database(source: Path, target: Path) -> None:
    """Copy the database as it is at one moment, with everything that was committed by then; whoever writes to
    it is not kept waiting. The target is there when it is whole, and on the disk. Raises `FileExistsError`,
    `OSError`, `BadCopy` and `sqlite3.Error`."""
    if target.exists():
        raise FileExistsError(target)
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    part.touch(0o600)
    try:
        _copy(source, part)
        _sync(part)
        os.link(part, target)  # and not in the place of another that is there by now
        _sync(target.absolute().parent)
    finally:
        part.unlink()


def _copy(source: Path, target: Path) -> None:
    reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    writing = sqlite3.connect(target, isolation_level=None)
    try:
        reading.backup(writing)  # in one step: so nobody's commit makes it begin anew
        # One file, whole by itself; a server that opens it turns the write-ahead log on again.
        writing.execute("PRAGMA journal_mode = DELETE")
        [found] = writing.execute("PRAGMA quick_check(1)").fetchone()
    finally:
        writing.close()
        reading.close()
    if found != "ok":
        raise BadCopy(f"the copy is damaged, and so perhaps is the database: {found}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
