"""What Kafka's client tells of itself, without telling it twenty times a second while a broker is away."""

import logging
import re
from threading import Lock

# What every client of this process tells for itself, though it is the same, and how long each of them took.
_WHO = re.compile(r"^\[thrd:[^\]]*\]: ")
_WHICH = re.compile(r"/(?:bootstrap|\d+)(?=[:\s]|$)")
_LENGTH = re.compile(r"\(after .*|\d+ ?ms")
EVERY = 60.0
MOST = 1_000


class Repeats(logging.Filter):
    """Lets a line of the client's pass that was not told within the last minute, with how many like it were
    left out. All other lines of its logger pass as they are."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()  # clients tell on threads of their own
        self._told: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        line = of_client(record)
        if line is None:
            return True
        with self._lock:
            last = self._told.get(line)
            if last is not None and 0 <= record.created - last < EVERY:
                self._left_out[line] = self._left_out.get(line, 0) + 1
                return False
            if len(self._told) >= MOST:
                self._told.clear()
                self._left_out.clear()
            self._told[line] = record.created
            left_out = self._left_out.pop(line, 0)
        if left_out:
            record.msg, record.args = "%s (and %d more like it)", (record.getMessage(), left_out)
        return True


def of_client(record: logging.LogRecord) -> str | None:
    """What a line says, whichever client of ours said it; None: it is none of a client's."""
    if not (isinstance(record.args, tuple) and len(record.args) == 3 and record.msg == "%s [%s] %s"):
        return None
    facility, _, said = (str(each) for each in record.args)
    return f"{facility} {_LENGTH.sub('', _WHICH.sub('', _WHO.sub('', said)))}"
