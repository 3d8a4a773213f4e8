"""A new SQLite file, opened by several at once."""

import threading
from pathlib import Path

from muster.store.open import sqlite_engine

ROUNDS, OPENERS = 60, 6


def test_several_may_turn_the_write_ahead_log_on_at_once(tmp_path: Path) -> None:
    failures: list[Exception] = []
    for number in range(ROUNDS):
        together = threading.Barrier(OPENERS)

        def open_it(path: Path = tmp_path / f"{number}.db", together: threading.Barrier = together) -> None:
            engine = sqlite_engine(path, "BEGIN IMMEDIATE")
            together.wait()
            try:
                with engine.connect() as connection:
                    connection.exec_driver_sql("SELECT 1")
            except Exception as failure:
                failures.append(failure)
            engine.dispose()

        openers = [threading.Thread(target=open_it) for _ in range(OPENERS)]
        for opener in openers:
            opener.start()
        for opener in openers:
            opener.join()
    assert failures == []
