"""An execution in the hands of this instance: rebuilt from what is kept, and put back into that shape."""

from dataclasses import dataclass, field
from datetime import datetime

from muster.engine.advance import advance, resume
from muster.engine.codec import decode
from muster.engine.ports import FIRST_FENCE, JournalRow, NewExecution, OwnedExecution
from muster.engine.program import Program
from muster.engine.state import (
    Completed,
    Event,
    Failed,
    Failure,
    Phase,
    Started,
    State,
    Suspended,
    Todo,
    Undone,
)
from muster.engine.view import Facts, scope_of
from muster.expr import Scope
from muster.model.json import Json

COMPENSATION = "compensation"


@dataclass(slots=True)
class Live:
    """Mutable, and so the affair of one task. `rows` are not written yet; `items` are the items of a visit
    that are done already, with their outputs, by key."""

    facts: Facts
    fence: int
    program: Program
    state: State
    seq: int = 0
    rows: list[JournalRow] = field(default_factory=list)
    items: dict[tuple[str, int], dict[str, Json]] = field(default_factory=dict)

    def happen(self, event: Event, now: datetime) -> tuple[Todo, ...]:
        """Take an event, and say what is to be done."""
        program = self.program
        decision = advance(program.graph, program.policies, self.facts, self.state, event, now)
        self.state = decision.state
        return decision.todo

    def scope(self, now: datetime, node: str = "", visit: int = 0, attempt: int = 1) -> Scope:
        return scope_of(self.facts, self.state, now, f"{node}/{visit}", attempt)


def begin(new: NewExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
    """An execution at its start, and what is to be done first."""
    facts = Facts(new.id, new.workflow_id, new.version_id, new.institute_id, new.started_at)
    live = Live(facts, FIRST_FENCE, program, State())
    return live, live.happen(Started(new.context), new.started_at)


def take_over(owned: OwnedExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
    """Rebuild an execution from its checkpoint and the journal after it, and say what is to be done: what
    was under way when its last owner went, again."""
    facts = Facts(owned.id, owned.workflow_id, owned.version_id, owned.institute_id, owned.started_at)
    outputs = owned.state.get("outputs", {})
    seq = owned.state.get("seq", 0)
    assert isinstance(outputs, dict)
    assert isinstance(seq, int)
    live = Live(facts, owned.fence, program, decode(owned.state, owned.context, outputs), seq)
    if not owned.state:
        live.happen(Started(owned.context), owned.started_at)
    for row in sorted(owned.journal, key=lambda row: row.seq):
        _replay(live, row)
    return live, resume(live.state)


def _replay(live: Live, row: JournalRow) -> None:
    if row.item_key and row.item_key != COMPENSATION:
        if row.status == "completed":
            live.items.setdefault((row.node, row.visit), {})[row.item_key] = row.output
        return
    if row.seq <= live.seq:
        return
    live.seq = row.seq
    event = _event_of(row)
    if event is not None:
        live.happen(event, row.completed_at or row.started_at)


def _event_of(row: JournalRow) -> Event | None:
    """What a journal row says has happened."""
    failure = Failure(str(row.error["type"]), str(row.error["message"])) if row.error else None
    if row.item_key == COMPENSATION:
        return Undone(row.node, row.visit, failure)
    match row.status:
        case "completed":
            changes = row.changes
            if changes is None:
                changes = row.output if isinstance(row.output, dict) else {}
            return Completed(row.node, row.visit, row.output, changes)
        case "failed" if failure:
            return Failed(row.node, row.visit, failure)
        case "paused":
            return Suspended(row.node, row.visit, Phase.PAUSED, row.due)
        case _ if row.status.startswith("waiting"):
            return Suspended(row.node, row.visit, Phase.WAITING, row.due)
        case _:
            return None
