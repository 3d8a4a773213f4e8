"""Sending the demo's traffic to a server, as time passes."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from math import inf

import httpx
import typer

from muster.app.cli.server import check_answer, connected
from muster.model.json import JsonObject
from muster.watch.traffic import DEMO_TRADES, Timed, traffic

# What is told within so many seconds goes together.
TOGETHER = 0.25
MOST_EVENTS = 1_000
TAKEN = 409


def send(rate: float, trades: int | None, seed: int, server: str | None, token: str | None) -> None:
    """Until all are sent, or it is stopped."""
    seed = seed or time.time_ns() // 1_000_000
    with connected(server, token) as client:
        _watch(client)
        began, sent = time.monotonic(), 0
        for at, batch in batches(traffic(rate, seed, inf if trades is None else trades)):
            time.sleep(max(began + at - time.monotonic(), 0.0))
            now = datetime.now(UTC).isoformat()
            check_answer(client.post("/ingest", json=[{**event, "eventTime": now} for event in batch]))
            sent += len(batch)
            typer.echo(f"\r{sent:,} events", nl=False, err=True)
    typer.echo(f"\r{sent:,} events sent; see /wallboard and /alerts")


def _watch(client: httpx.Client) -> None:
    """Let the trades be watched, unless they are already."""
    answer = client.post("/workflows", json=DEMO_TRADES)
    if answer.status_code != TAKEN:
        check_answer(answer)


def batches(timed: Iterator[Timed]) -> Iterator[tuple[float, list[JsonObject]]]:
    """What is told together, and when."""
    for place, together in groupby(timed, key=lambda each: int(each.at / TOGETHER)):
        events = [each.event for each in together]
        for start in range(0, len(events), MOST_EVENTS):
            yield place * TOGETHER, events[start : start + MOST_EVENTS]
