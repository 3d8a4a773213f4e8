"""The group committer under a thousand seeds of faults; and that mistakes in it would be found."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial

import pytest

from muster.sim.command import main
from muster.sim.scenarios.committer import simulate
from muster.sim.seeds import Failure, first_failure, run_in
from muster.sim.world import World
from muster.store import committer
from muster.store.committer import EarlierWriteFailed, GroupCommitter, Plan, _Write
from muster.store.database import CommitUnknown, Database, Unavailable

SEEDS = 1000


@pytest.mark.parametrize("chunk", range(4))
def test_what_callers_are_told_is_true_after_any_crash(chunk: int) -> None:
    quarter = SEEDS // 4
    failure = first_failure(simulate, range(chunk * quarter, (chunk + 1) * quarter))
    assert failure is None, str(failure)


def trace_of(seed: int) -> list[str]:
    world = World(seed)
    assert simulate(world) == []
    return world.trace()


def test_a_seed_repeats_line_for_line_and_another_differs() -> None:
    assert trace_of(11) == trace_of(11)
    assert len({tuple(trace_of(seed)) for seed in range(20)}) == 20


def test_a_seed_repeats_byte_for_byte_in_another_process_whatever_the_hash_seed() -> None:
    def run(hash_seed: str) -> bytes:
        environment = dict(os.environ) | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "muster.sim", "--seed", "4"]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    once = run("1")
    assert once == run("2") == run("random")
    assert once.count(b"\n") > 100


# --- mistakes that the simulation must find ------------------------------------------------------


class TellsBeforeTheCommit(GroupCommitter):
    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        for write in (write for statement in statements for write in statement):
            if not write.answer.done():
                write.answer.set_result(write.item.number)  # type: ignore[attr-defined]  # the scenario's lines
        return await super()._commit(statements)


class RetriesWhatMayBeCommitted(GroupCommitter):
    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        try:
            return await super()._commit(statements)
        except CommitUnknown:
            return await super()._commit(statements)


class TakesUnknownForDurable(GroupCommitter):
    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        try:
            return await super()._commit(statements)
        except CommitUnknown:
            return [write.item.number for statement in statements for write in statement]  # type: ignore[attr-defined]  # as above


class TakesUnknownForUnwritten(GroupCommitter):
    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        try:
            return await super()._commit(statements)
        except CommitUnknown as error:
            raise Unavailable("surely nothing was written") from error


class BlamesEveryone(GroupCommitter):
    def _blame(self, writes: list[_Write], refused: Exception) -> None:
        self._fail(writes, refused)


class LetsOthersOvertake(GroupCommitter):
    def _fail(self, writes: list[_Write], error: Exception) -> None:
        for write in writes:
            if not write.answer.done():
                write.answer.set_exception(error)


class ForgetsTheSecondHalf(GroupCommitter):
    def _blame(self, writes: list[_Write], refused: Exception) -> None:
        super()._blame(writes, refused)
        del self._undecided[1:]


class WritesTheSecondHalfFirst(GroupCommitter):
    def _blame(self, writes: list[_Write], refused: Exception) -> None:
        super()._blame(writes, refused)
        self._undecided.reverse()


class LeavesOnClosing(GroupCommitter):
    async def close(self) -> None:
        self._closed = True


class TripsOverWhoStoppedWaiting(GroupCommitter):
    async def _commit(self, statements: list[list[_Write]]) -> list[object]:
        results = await super()._commit(statements)
        if any(write.answer.cancelled() for statement in statements for write in statement):
            raise asyncio.InvalidStateError("somebody has left")
        return results


MISTAKES: Sequence[tuple[type[GroupCommitter], str]] = [
    (TellsBeforeTheCommit, "was told to be durable"),
    (RetriesWhatMayBeCommitted, "is there 2 times"),
    (TakesUnknownForDurable, "was told to be durable"),
    (TakesUnknownForUnwritten, "is there, though"),
    (BlamesEveryone, "another one's error"),
    (LetsOthersOvertake, "overtook"),
    (ForgetsTheSecondHalf, "Deadlock"),
    (WritesTheSecondHalfFirst, "another order|overtook"),
    (LeavesOnClosing, "was never decided"),
    (TripsOverWhoStoppedWaiting, "is there 2 times|another one's error"),
]


def found_with(mistaken: type[GroupCommitter]) -> Failure | None:
    def make(database: Database, max_batch: int, max_statements: int) -> GroupCommitter:
        return mistaken(database, max_batch=max_batch, max_statements=max_statements)

    return first_failure(partial(simulate, make=make), range(SEEDS))


@pytest.mark.parametrize(
    ("mistaken", "finding"), MISTAKES, ids=lambda value: getattr(value, "__name__", None)
)
def test_the_simulation_finds_a_committer_that(mistaken: type[GroupCommitter], finding: str) -> None:
    failure = found_with(mistaken)
    assert failure is not None
    assert re.search(finding, "\n".join(failure.wrong)), str(failure)


def by_kind_only(writes: Iterable[_Write], most_statements: int | None = None) -> Plan[_Write]:
    kinds: dict[object, list[_Write]] = {}
    for write in writes:
        kinds.setdefault(write.kind, []).append(write)
    return Plan(list(kinds.values()), [])


def test_the_simulation_finds_a_plan_that_sorts_by_kind_and_ignores_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committer, "plan", by_kind_only)
    failure = found_with(GroupCommitter)
    assert failure is not None
    assert "has a key twice" in str(failure) or "another order" in str(failure)


def test_the_simulation_finds_a_refusal_without_a_reason() -> None:
    class RefusesAllThatWait(GroupCommitter):
        def _fail(self, writes: list[_Write], error: Exception) -> None:
            super()._fail(writes, error)
            waiting, self._waiting = self._waiting, []
            for write in waiting:
                if not write.answer.done():
                    write.answer.set_exception(EarlierWriteFailed(write.key))

    failure = found_with(RefusesAllThatWait)
    assert failure is not None
    assert "refused for an earlier write" in str(failure)


# --- the command ---------------------------------------------------------------------------------


def test_a_failing_seed_is_printed_with_what_led_there() -> None:
    world = World(77)

    def fails(world: World) -> list[str]:
        world.note("somebody", "does something")
        raise ValueError("broken")

    failure = run_in(world, fails)
    assert failure is not None
    assert str(failure).splitlines() == [
        "seed 77:",
        "  ValueError: broken",
        "  the last 1 of 1 events:",
        "  0.000000 somebody: does something",
    ]


def test_the_command_runs_many_seeds_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "committer", "--seeds", "20", "--jobs", "1"]) == 0
    assert re.fullmatch(r"committer: 20 seeds, \d+ a second, all is well\n", capsys.readouterr().out)


def test_the_command_shows_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "committer", "--seed", "3"]) == 0
    assert capsys.readouterr().out.endswith("committer, seed 3: all is well\n")
