"""What must hold, each a small pure function that says what is wrong and names itself in saying so.

The first kind is asked about every commit, of the rows before and after it; the second about the end.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from muster.engine.state import FINAL, Completed, Failed, Failure
from muster.model.json import JsonObject
from muster.model.workflow import Definition
from muster.sim.reference import Reference

UNDO = "undo"
POISONED = "Poisoned"


@dataclass(frozen=True, slots=True)
class Seen:
    """A row of `workflow_execution`, as much of it as these need."""

    id: str
    version: int
    status: str
    fence: int
    owner: str | None
    leased: bool
    due: bool
    held: bool
    waits: bool
    has_place: bool
    takeovers: int
    error: str | None
    result: str
    ended_at: str | None = None

    @property
    def ended(self) -> bool:
        return self.status in FINAL


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the journal."""

    execution: str
    node: str
    visit: int
    item: str
    seq: int
    status: str
    changes: JsonObject
    error: JsonObject | None = None

    @property
    def place(self) -> str:
        return place_of(self.execution, self.node, self.visit, self.item)


@dataclass(frozen=True)
class Snapshot:
    """The database at one commit. `journal` has the status of every row by its place, and `owners` everyone
    who ever held an execution, by its id and fence."""

    rows: Mapping[str, Seen] = field(default_factory=dict)
    journal: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[tuple[str, int], str] = field(default_factory=dict)


def place_of(execution: str, node: str, visit: int, item: str) -> str:
    return f"{execution}:{node}:{visit}:{item}"


# --- at every commit ----------------------------------------------------------------------------------------


def at_commit(
    before: Snapshot, after: Snapshot, accepted: Iterable[str], culprits: Collection[int] = ()
) -> list[str]:
    """`culprits` are the versions that bring their owners down."""
    found = lost(accepted, after)
    for row in after.rows.values():
        found += unattended(row)
        found += wrongly_given_up(row, culprits)
        earlier = before.rows.get(row.id)
        if earlier is not None and earlier != row:
            found += changed_after_its_end(earlier, row)
            found += fence_went_back(earlier, row)
        found += two_owners(before, row)
    return found + forgotten_work(before, after)


def lost(accepted: Iterable[str], after: Snapshot) -> list[str]:
    return [f"lost: {name} was accepted and is gone" for name in accepted if name not in after.rows]


def unattended(row: Seen) -> list[str]:
    """Every live execution has a lease, a due time or an open wait; one paused by hand waits for a person,
    and one that is queued has a place in a queue."""
    if row.ended or ((row.leased or row.due or row.waits or row.held) and row.has_place):
        return []
    return [f"unattended: {row.id} is {row.status} without lease, due time or open wait"]


def wrongly_given_up(row: Seen, culprits: Collection[int]) -> list[str]:
    """Who merely shared an owner with what brings its owners down is not given up with it."""
    if row.error != POISONED or row.version in culprits:
        return []
    return [f"wrongly given up: {row.id} brings nobody down"]


def changed_after_its_end(before: Seen, after: Seen) -> list[str]:
    """A retry is a new attempt under a new fence; whatever else changes what has ended is wrong."""
    if not before.ended or after.fence > before.fence:
        return []
    return [f"changed after its end: {before.id} from {before.status} to {after.status}"]


def fence_went_back(before: Seen, after: Seen) -> list[str]:
    if after.fence >= before.fence:
        return []
    return [f"fence went back: {before.id} from {before.fence} to {after.fence}"]


def two_owners(before: Snapshot, row: Seen) -> list[str]:
    """Under one fence an execution has one owner, ever."""
    other = before.owners.get((row.id, row.fence))
    if row.owner is None or other is None or other == row.owner:
        return []
    return [f"two owners: {row.id} under fence {row.fence}: {other} and {row.owner}"]


def forgotten_work(before: Snapshot, after: Snapshot) -> list[str]:
    """What is journaled as done stays so."""
    return [
        f"forgotten work: {place} was completed and is {after.journal.get(place, 'gone')}"
        for place, status in before.journal.items()
        if status == "completed" and after.journal.get(place) != "completed"
    ]


def happens_again(seen: Snapshot, place: str) -> list[str]:
    """Asked by an effect that is about to happen."""
    if seen.journal.get(place) not in ("completed", "compensated"):
        return []
    return [f"happens again: {place}, although it is journaled as done"]


def repeated_unasked(seen: Snapshot, place: str, asked: Collection[str]) -> list[str]:
    """Asked by an effect that must not be repeated unasked, and is about to happen: nobody in this world asks
    for that, and its start is durable."""
    found = [f"repeated unasked: {place}"] if place in asked else []
    if seen.journal.get(place) != "running":
        found.append(f"repeated unasked: {place} begins, and is journaled as {seen.journal.get(place)}")
    return found


def stale_write(seen: Snapshot, execution: str, fence: int) -> list[str]:
    """Asked when a write was acknowledged, with what was seen before it was submitted."""
    row = seen.rows.get(execution)
    if row is None or fence >= row.fence:
        return []
    return [f"stale write: {execution} was written under fence {fence}, when it was at {row.fence}"]


# --- at the end ---------------------------------------------------------------------------------------------


def at_end(
    row: Seen,
    definition: Definition,
    journal: Sequence[Step],
    given: JsonObject,
    done: Counter[str],
    by_hand: bool,
    cancelled: bool,
) -> list[str]:
    """`by_hand`: it was retried; `cancelled`: somebody asked for it."""
    found = unfinished(row)
    found += unlike_the_reference(row, definition, journal, given, cancelled)
    found += [wrong for step in journal for wrong in effect_counts(step, definition, done)]
    if row.ended and not by_hand:
        found += not_undone(row, definition, journal)
    return found


def unfinished(row: Seen) -> list[str]:
    return [] if row.ended else [f"unfinished: {row.id} is {row.status} long after the faults stopped"]


def not_given_up(row: Seen, cancelled: bool) -> list[str]:
    """Asked of what brings its owners down."""
    if row.error == POISONED or (cancelled and row.status == "CANCELLED"):
        return []
    return [f"not given up: {row.id} is {row.status} ({row.error})"]


def unlike_the_reference(
    row: Seen, definition: Definition, journal: Sequence[Step], given: JsonObject, cancelled: bool
) -> list[str]:
    """The naive interpreter, told what visits came to, allows each of them and ends in the same way."""
    reference = Reference(definition, context=dict(given))
    reference.start()
    for event in _events(journal):
        if reference.failed:
            break  # what ran beside the failure was let finish
        if (event.node, event.visit) not in reference.running:
            return [f"unlike the reference: {row.id} ran {event.node} ({event.visit})"]
        reference.happen(event)
    expected = _expected(reference)
    if row.status == "CANCELLED" and cancelled:
        return []
    if row.status != expected:
        return [f"unlike the reference: {row.id} is {row.status} ({row.error}) and not {expected}"]
    if row.status == "COMPLETED" and json.loads(row.result) != reference.context:
        return [f"unlike the reference: {row.id} came to {row.result}, not {reference.context}"]
    return []


def _expected(reference: Reference) -> str:
    if reference.failed:
        return "FAILED"
    return "not ended" if reference.running or reference.joining else "COMPLETED"


def _events(journal: Sequence[Step]) -> Iterator[Completed | Failed]:
    for step in sorted(journal, key=lambda step: step.seq):
        if step.item:
            continue
        if step.status == "completed":
            yield Completed(step.node, step.visit, None, step.changes)
        elif step.status == "failed" and step.error:
            error = Failure(str(step.error["type"]), str(step.error["message"]))
            yield Failed(step.node, step.visit, error)


def effect_counts(step: Step, definition: Definition, done: Counter[str]) -> list[str]:
    """A sink that honours keys has done what is journaled as done, and has done it once. What a person says
    was done may not have been."""
    node = definition.node(step.node)
    if node.type != "TELL" or step.status not in ("completed", "compensated"):
        return []
    if "on" in node.config and not step.item:
        return []  # its items are looked at one by one
    count = done[step.place]
    if node.in_doubt == "ask" and not step.item and count == 0:
        return []
    return [] if count == 1 else [f"effect counts: {step.place} was done {count} times"]


def not_undone(row: Seen, definition: Definition, journal: Sequence[Step]) -> list[str]:
    """What fails is compensated for: all that was completed, in reverse order. What a person says was done
    while others are being undone comes next."""
    if row.status != "FAILED" or row.error == POISONED:
        return []
    done = {
        (step.node, step.visit): step.seq
        for step in journal
        if step.status == "completed" and not step.item and definition.node(step.node).compensate
    }
    undone = sorted((step for step in journal if step.item == UNDO), key=lambda step: step.seq)
    told = f"{row.id} undid {[step.place for step in undone]}, and {done} were done"
    if sorted((step.node, step.visit) for step in undone) != sorted(done):
        return [f"not undone: {told}"]
    chosen = _failed_before(journal, undone)
    for step in undone:
        at = done.pop((step.node, step.visit))
        if any(at < other < chosen for other in done.values()):
            return [f"undone out of order: {told}"]
        chosen = step.seq  # what is undone next is chosen when the last is done
    return []


def _failed_before(journal: Sequence[Step], undone: Sequence[Step]) -> int:
    """When it failed, before anything was undone; at the latest, when the first was."""
    begun = undone[0].seq if undone else 0
    return max((step.seq for step in journal if step.status == "failed" and step.seq < begun), default=begun)
