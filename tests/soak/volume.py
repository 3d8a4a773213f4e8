"""A small volume: a file system in memory that is full when it is told to be."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# So much more can be written to one that is full: some writes find room, others do not.
ROOM_LEFT = 256 * 1024
WHOLE = "60%"


class Volume:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self) -> None:
        """As if somebody else had written all that there is room for."""
        found = os.statvfs(self._folder)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        self._resize(str(used + ROOM_LEFT))

    def make_room(self) -> None:
        self._resize(WHOLE)

    def _resize(self, size: str) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self._folder))


@contextmanager
def small_volume(folder: Path) -> Iterator[Volume | None]:
    """Mounted there while the block runs. None: who is not root, or may not mount, has none."""
    folder.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={WHOLE},mode=755", "muster-soak", str(folder))
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield Volume(folder)
    finally:
        # Whoever still has a file open there does not keep it from going.
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
