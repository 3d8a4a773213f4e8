"""One process owns a data folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.store.folder import DataFolder, FolderTaken
from polling import PATIENCE

HOLD = """
import sys, time
from pathlib import Path
from muster.store.folder import DataFolder
folder = DataFolder.claim(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_folder_is_made_and_claimed_by_one(tmp_path: Path) -> None:
    with DataFolder.claim(tmp_path / "data") as folder:
        assert folder.path == tmp_path / "data"
        with pytest.raises(
            FolderTaken, match=f"data is in use by process {os.getpid()}: one process at a time"
        ):
            DataFolder.claim(tmp_path / "data")
    DataFolder.claim(tmp_path / "data").release()


def test_a_claim_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FolderTaken, match=f"process {other.pid}"):
            DataFolder.claim(tmp_path)
        other.send_signal(signal.SIGKILL)
        other.wait(PATIENCE)
    DataFolder.claim(tmp_path).release()


def test_the_number_of_a_process_that_is_gone_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "muster.lock").write_text("99999999999\n")
    with DataFolder.claim(tmp_path):
        assert (tmp_path / "muster.lock").read_text() == f"{os.getpid()}\n"


def test_releasing_twice_does_not_end_the_next_ones_claim(tmp_path: Path) -> None:
    folder = DataFolder.claim(tmp_path)
    folder.release()
    with DataFolder.claim(tmp_path):
        folder.release()
        with pytest.raises(FolderTaken):
            DataFolder.claim(tmp_path)
