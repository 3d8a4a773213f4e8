"""Lines of Kafka's client: each once in a while, however often it tries again, and however many clients."""

import logging
from collections.abc import Iterator

import pytest

from muster.app.logs import configure_logs
from muster.app.settings import LogSettings
from muster.bus.kafka_log import EVERY, Repeats, of_client

REFUSED = "Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after {ms}ms in state CONNECT)"


def line(
    said: str, client: str = "i#producer-1", facility: str = "FAIL", at: float = 1000.0
) -> logging.LogRecord:
    made = logging.LogRecord(
        "muster.kafka", logging.ERROR, "", 0, "%s [%s] %s", (facility, client, said), None
    )
    made.created = at
    return made


def refused(
    client: str = "i#producer-1", ms: int = 0, broker: str = "bootstrap", at: float = 1000.0
) -> logging.LogRecord:
    where = f"127.0.0.1:9092/{broker}"
    return line(f"[thrd:{where}]: {where}: {REFUSED.format(ms=ms)}", client, at=at)


def test_what_every_client_says_again_and_again_is_told_once() -> None:
    told = Repeats()
    assert told.filter(refused())
    assert not told.filter(refused(ms=3))
    assert not told.filter(refused("i#consumer-7", broker="1", at=1001.0))
    again = REFUSED.format(ms="0").removesuffix(")") + ", 1 identical error(s) suppressed)"
    assert not told.filter(line(f"[thrd:127.0.0.1:9092/1]: 127.0.0.1:9092/1: {again}"))


def test_after_a_while_it_is_told_again_with_how_much_was_left_out() -> None:
    told = Repeats()
    told.filter(refused())
    told.filter(refused(ms=1))
    told.filter(refused(ms=2))
    later = refused(at=1000.0 + EVERY)
    assert told.filter(later)
    assert later.getMessage().endswith("(after 0ms in state CONNECT) (and 2 more like it)")
    assert not told.filter(refused(at=1001.0 + EVERY))


def test_what_is_something_else_is_told() -> None:
    told = Repeats()
    assert told.filter(refused())
    other = line("[thrd:10.0.0.7:9092/bootstrap]: 10.0.0.7:9092/bootstrap: Connection refused")
    assert told.filter(other)
    assert told.filter(line("[thrd:main]: Current transaction failed", facility="TXNERR"))
    ours = logging.LogRecord("muster.kafka", logging.INFO, "", 0, "made the topic %s", ("a",), None)
    assert of_client(ours) is None
    assert told.filter(ours)
    assert told.filter(ours)


def test_a_clock_that_was_put_back_keeps_nothing_back() -> None:
    told = Repeats()
    told.filter(refused(at=5000.0))
    assert told.filter(refused(at=1000.0))


@pytest.fixture
def configured() -> Iterator[logging.Logger]:
    root, kafka = logging.getLogger(), logging.getLogger("muster.kafka")
    handlers, level = root.handlers[:], root.level
    configure_logs(LogSettings())
    yield kafka
    root.handlers[:] = handlers
    root.setLevel(level)
    kafka.filters[:] = []


def test_a_server_keeps_the_lines_of_its_clients_down(configured: logging.Logger) -> None:
    assert configured.filter(refused())
    assert not configured.filter(refused())
