"""A check: a promise that something keeps which Muster stands on, and what follows if it does not."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from muster.store.failures import reason

On = TypeVar("On")

# As long as anything may take: reached only where an answer never comes.
PATIENCE = 120.0
LONGEST_SHOWN = 200


class NotKept(Exception):
    """The promise was not kept; the message says what was found."""


class NotPromised(Exception):
    """This one does not promise it, and Muster does not rely on it there; the message says why."""


@dataclass(frozen=True, slots=True)
class Check(Generic[On]):
    """`promise` is a sentence that has to be true, `otherwise` what an operator has to expect if it is not.
    `run` raises `NotKept`, or `NotPromised`."""

    name: str
    promise: str
    otherwise: str
    run: Callable[[On], Awaitable[None]]


class Verdict(StrEnum):
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a check. `found` says why, unless all is well."""

    part: str
    name: str
    promise: str
    otherwise: str
    verdict: Verdict
    found: str
    seconds: float


def expect(holds: bool, found: str) -> None:
    """Raises `NotKept`."""
    if not holds:
        raise NotKept(found)


def same(found: object, wanted: object, what: str) -> None:
    """Raises `NotKept`."""
    expect(found == wanted, f"{what}: {_shown(found)} instead of {_shown(wanted)}")


async def come_to(condition: Callable[[], bool]) -> None:
    """Wait until it holds. Raises `NotKept` when patience has run out."""

    async def ask() -> bool:
        return condition()

    await until(ask)


async def until(ask: Callable[[], Awaitable[bool]], what: str = "it did not come to pass") -> None:
    """The same for what is asked asynchronously."""
    give_up = time.monotonic() + PATIENCE
    while not await ask():
        expect(time.monotonic() < give_up, f"{what} within {PATIENCE:.0f} seconds")
        await asyncio.sleep(0.01)


async def judged(part: str, check: Check[On], on: On) -> Result:
    """Run a check, and say what became of it."""
    began = time.monotonic()
    verdict, found = await _verdict(check, on)
    seconds = time.monotonic() - began
    return Result(part, check.name, check.promise, check.otherwise, verdict, found, seconds)


async def _verdict(check: Check[On], on: On) -> tuple[Verdict, str]:
    try:
        # A check waits for several things one after another, each of which may take its time.
        async with asyncio.timeout(2 * PATIENCE):
            await check.run(on)
    except NotPromised as why:
        return Verdict.SKIPPED, str(why)
    except NotKept as found:
        return Verdict.FAILED, str(found)
    except TimeoutError:
        return Verdict.FAILED, f"there was no end of it within {2 * PATIENCE:.0f} seconds"
    except Exception as error:  # whatever else goes wrong is what is to be found out: the others go on
        return Verdict.FAILED, f"{type(error).__name__}: {reason(error)}"
    return Verdict.OK, ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
