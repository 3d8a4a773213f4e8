"""An effect for each item of a list: a few at a time, each journaled, in the memory of those few."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.engine.handlers import Done
from muster.engine.items import Item
from muster.engine.state import Failure
from muster.model.json import Json, JsonObject

KEPT = 1000


class OnItemError(StrEnum):
    """Do all and then fail, do all and go on, or stop at the first."""

    COLLECT = "collect"
    CONTINUE = "continue"
    STOP = "stop"


@dataclass(slots=True)
class Summary:
    """What came of the items. Beyond the first thousand only counts are kept: the journal has the rest."""

    total: int = 0
    succeeded: int = 0
    skipped: int = 0
    results: list[Json] = field(default_factory=list)
    errors: list[Json] = field(default_factory=list)
    failures: int = 0
    first: Failure | None = None
    retryable: bool = False

    def succeed(self, output: Json) -> None:
        self.succeeded += 1
        if len(self.results) < KEPT:
            self.results.append(output)

    def fail(self, key: str, failure: Failure) -> None:
        self.failures += 1
        self.first = self.first or failure
        self.retryable = self.retryable or failure.retryable
        if len(self.errors) < KEPT:
            self.errors.append({"item": key, "type": failure.type, "message": failure.message})

    def document(self) -> JsonObject:
        return {
            "total": self.total,
            "succeeded": self.succeeded,
            "failed": self.failures,
            "skipped": self.skipped,
            "results": self.results,
            "errors": self.errors,
        }


async def run_each(
    items: Iterator[Item],
    run: Callable[[Item], Awaitable[Done | Failure]],
    done: Mapping[str, Json],
    concurrency: int,
    on_error: OnItemError,
) -> tuple[Done | Failure, JsonObject]:
    """Run every item that is not done yet, and answer the outcome of the whole and its summary."""
    summary = Summary()

    async def work() -> None:
        for item in items:  # the workers draw from one iterator, so each item goes to one of them
            summary.total += 1
            if item.params is None:
                summary.skipped += 1
            elif item.key in done:
                summary.succeed(done[item.key])
            else:
                await _run_one(item, run, summary)
            if summary.failures and on_error is OnItemError.STOP:
                return

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(concurrency):
                workers.create_task(work())
    except ExceptionGroup as group:
        # An item's own trouble is an outcome. What is raised concerns them all: the execution is another's.
        raise group.exceptions[0] from None
    return _outcome(summary, on_error), summary.document()


async def _run_one(item: Item, run: Callable[[Item], Awaitable[Done | Failure]], summary: Summary) -> None:
    match await run(item):
        case Done(output=output):
            summary.succeed(output)
        case Failure() as failure:
            summary.fail(item.key, failure)


def _outcome(summary: Summary, on_error: OnItemError) -> Done | Failure:
    if summary.first is None or on_error is OnItemError.CONTINUE:
        return Done(summary.document())
    told = f"{summary.failures} of {summary.total} items failed, the first with: {summary.first.message}"
    return Failure("ItemsFailed", told, summary.retryable)
