"""What is counted while it lasts: how long each took, and when; the memory of processes."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from torture.instances import MusterProcess

EVERY = 1.0
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """`at` is when it was sent, in seconds since 1970, and `value` how long it took, or how much it was."""

    at: float
    value: float


@dataclass
class Tally:
    """One kind of work: what was sent, what came of it, and how long each took."""

    name: str
    sent: int
    done: int
    samples: list[Sample] = field(default_factory=list)


def ended(rows: Sequence[tuple[float, datetime | None]]) -> list[Sample]:
    """From when each was sent to when it had ended."""
    return [Sample(at, end.timestamp() - at) for at, end in rows if end is not None]


class Memory:
    """Resident memory of the instances, in MiB: of the first, which is never ended, and of all the others."""

    def __init__(self, instances: Sequence[MusterProcess]) -> None:
        self._instances = instances
        self.eldest: list[Sample] = []
        self.others: list[Sample] = []

    async def keep(self) -> None:
        """Until cancelled."""
        while True:
            for number, instance in enumerate(self._instances):
                if instance.is_up and instance.is_ready:
                    found = _resident(instance.process.pid)
                    if found:
                        kept = self.others if number else self.eldest
                        kept.append(Sample(time.time(), found / MEBIBYTE))
            await asyncio.sleep(EVERY)


def _resident(pid: int) -> int:
    """0: it has just gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 if found else 0
