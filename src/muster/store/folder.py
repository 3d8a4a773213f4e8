"""A data folder belongs to one process: what makes it safe to keep SQLite and nothing else."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

LOCK_NAME = "muster.lock"


class FolderTaken(Exception):
    """Another process owns the data folder; the message names it."""


class DataFolder:
    """A claim on a folder. It ends with `release`, or with the process, however that ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def claim(cls, path: Path) -> Self:
        """Own the folder, making it if need be. Raises `FolderTaken`."""
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            who = f"process {owner}" if owner else "another process"
            raise FolderTaken(f"the data folder {path} is in use by {who}: one process at a time") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(path, descriptor)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
