"""Executions as they begin, and as they are rebuilt from what is kept: a checkpoint and the journal since."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.engine.advance import at_attempt, in_doubt, resume
from muster.engine.codec import decode
from muster.engine.doubt import BEGUN, asking, is_in_doubt
from muster.engine.journal import COMPENSATION, JournalRow, Signal
from muster.engine.keeping import answers_of, correlation_of, deadline_of, history_of
from muster.engine.live import Live
from muster.engine.owned import FIRST_FENCE, NewExecution, OwnedExecution
from muster.engine.program import Program
from muster.engine.search import FOUND_BY, digest_of
from muster.engine.state import (
    Completed,
    Event,
    Failed,
    Failure,
    Held,
    Phase,
    Released,
    Retrying,
    Started,
    State,
    Suspended,
    Todo,
    Undone,
)
from muster.engine.view import Facts
from muster.model.aside import filled
from muster.model.execution import WAITS, NodeStatus
from muster.model.json import Json, JsonObject


def begin(new: NewExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
    """An execution at its start, and what is to be done first."""
    facts = Facts(
        new.id,
        new.workflow_id,
        new.version_id,
        new.institute_id,
        new.started_at,
        program.vars,
        new.parent_id,
        is_limited=new.limit is not None,
        trigger_id=new.trigger_id,
        trace=new.trace,
    )
    live = Live(facts, FIRST_FENCE, program, State(), found_by=digest_of(new.terms))
    return live, live.happen(Started(new.context), new.started_at)


def may_be_limited(owned: OwnedExecution, program: Program) -> bool:
    """By its workflow, or by what has started it: of a schedule, one may run at a time."""
    return program.concurrency is not None or owned.trigger_id is not None


def take_over(owned: OwnedExecution, program: Program) -> tuple[Live, tuple[Todo, ...]]:
    """Rebuild an execution from its checkpoint and the journal after it, and say what is to be done: what
    was under way when its last owner went, again. Raises `Unread` where deciding reads a value that is aside:
    it goes into `owned`, see `with_values`."""
    facts = Facts(
        owned.id,
        owned.workflow_id,
        owned.version_id,
        owned.institute_id,
        owned.started_at,
        program.vars,
        owned.parent_id,
        owned.depth,
        is_limited=may_be_limited(owned, program),
        trigger_id=owned.trigger_id,
        trace=owned.trace,
    )
    outputs = owned.state.get("outputs", {})
    seq = owned.state.get("seq", 0)
    assert isinstance(outputs, dict)
    assert isinstance(seq, int)
    state = decode(owned.state, owned.context, outputs)._replace(has_asides=owned.has_asides)
    live = Live(facts, owned.fence, program, state, seq, rows=list(owned.unwritten), taken=dict(owned.taken))
    live.takeovers, live.claimed_at = owned.takeovers, owned.claimed_at
    live.answers = answers_of(owned.state)
    live.began, live.failures = history_of(owned.state)
    found_by = owned.state.get(FOUND_BY)
    live.found_by = found_by if isinstance(found_by, str) else None
    if owned.is_untouched and owned.signals and not owned.state:
        return live, _first_of_all(live, owned)
    if not owned.state:
        live.happen(Started(owned.context), owned.started_at)
    history: list[JournalRow | Signal] = [*owned.journal, *owned.signals]
    for entry in sorted(history, key=lambda entry: entry.seq or 0):
        if isinstance(entry, JournalRow):
            _replay(live, entry)
        elif entry.seq is not None:
            live.happen(live.take_again(entry, entry.seq), owned.started_at)
    _ask(live, owned.journal)
    live.receive(owned.signals)
    todo = resume(live.state)
    if todo and live.arrived and owned.is_untouched and not live.state.undoing:
        return live, _before_it_begins(live, owned)
    return live, todo


def with_values(owned: OwnedExecution, values: Mapping[str, Json]) -> OwnedExecution:
    """The same with these large values in their places."""
    journal = [
        row._replace(
            output=filled({"": row.output}, values)[""],
            changes=None if row.changes is None else filled(row.changes, values),
        )
        for row in owned.journal
    ]
    return replace(
        owned,
        context=filled(owned.context, values),
        state=filled(owned.state, values),
        journal=journal,
    )


def _ask(live: Live, journal: Iterable[JournalRow]) -> None:
    """Put questions where there are starts without results."""
    for row in journal:
        if row.status == BEGUN and in_doubt(live.state, row.node, row.visit):
            live.seq += 1
            live.rows.append(asking(row, live.seq))


def _first_of_all(live: Live, owned: OwnedExecution) -> tuple[Todo, ...]:
    """Begin what nobody has owned before. What has reached it by now comes first: one that was cancelled
    before its turn runs no node, and one that is held begins when it is released."""
    live.receive(owned.signals)
    todo: tuple[Todo, ...] = ()
    for event in live.take_signals():
        if isinstance(event, Held | Released):
            live.state = live.state._replace(held=isinstance(event, Held))
        else:
            todo += live.happen(event, owned.started_at)
    return todo + live.happen(Started(owned.context), owned.started_at)


def _before_it_begins(live: Live, owned: OwnedExecution) -> tuple[Todo, ...]:
    """Take what has reached an execution that was handed on before anything of it begins here: held or
    cancelled meanwhile, nothing does."""
    held, todo = live.state.held, tuple[Todo, ...]()
    tokens = tuple(
        token._replace(phase=Phase.READY) if token.phase is Phase.RUNNING else token
        for token in live.state.tokens
    )
    live.state = live.state._replace(tokens=tokens, held=True)
    for event in live.take_signals():
        if isinstance(event, Held | Released):
            held = isinstance(event, Held)
        else:
            todo += live.happen(event, owned.started_at)
    return todo + live.happen(Held() if held else Released(), owned.started_at)


def _replay(live: Live, row: JournalRow) -> None:
    if row.completed_at is None:
        live.began[row.node, row.visit] = row.started_at
    if row.error and row.item_key != COMPENSATION and not is_in_doubt(row):
        live.failures[row.node, row.visit] = _failures_of(row)
    # A cache knows of a start, but not that nothing came of it: that is said by what the journal has last.
    if row.seq <= live.seq and row.status != BEGUN:
        return
    live.seq = max(live.seq, row.seq)
    event = _event_of(row)
    if event is not None:
        live.state = at_attempt(live.state, row.node, row.visit, row.attempt)
        live.happen(event, row.completed_at or row.started_at)


def _failures_of(row: JournalRow) -> list[JsonObject]:
    """The attempts that a row tells of: all that it kept, or the one that it is about."""
    error = row.error or {}
    kept = error.get("attempts")
    if isinstance(kept, list):
        return [attempt for attempt in kept if isinstance(attempt, dict)]
    at = (row.completed_at or row.started_at).isoformat()
    return [{"attempt": row.attempt, "at": at, "type": error.get("type"), "message": error.get("message")}]


def _failure_of(error: JsonObject) -> Failure:
    details = error.get("details")
    given = details if isinstance(details, dict) else None
    return Failure(str(error["type"]), str(error["message"]), details=given)


def _event_of(row: JournalRow) -> Event | None:
    """What a journal row says has happened."""
    failure = _failure_of(row.error) if row.error else None
    if row.item_key == COMPENSATION:
        return Undone(row.node, row.visit, failure)
    if is_in_doubt(row):
        return Suspended(row.node, row.visit, Phase.DOUBT, None)
    match row.status:
        case NodeStatus.COMPLETED | NodeStatus.SKIPPED:
            changes = row.changes
            if changes is None:
                changes = row.output if isinstance(row.output, dict) else {}
            return Completed(row.node, row.visit, row.output, changes, row.status == NodeStatus.SKIPPED)
        case NodeStatus.FAILED if failure:
            return Failed(row.node, row.visit, failure)
        case NodeStatus.RETRYING if row.due:
            kept = correlation_of(row.output)
            return Retrying(row.node, row.visit, row.attempt + 1, row.due, kept)
        case NodeStatus.PAUSED:
            return Suspended(row.node, row.visit, Phase.PAUSED, row.due, deadline=deadline_of(row.output))
        case _ if row.status in WAITS:
            correlation, deadline = correlation_of(row.output), deadline_of(row.output)
            return Suspended(row.node, row.visit, Phase.WAITING, row.due, correlation, deadline)
        case _:
            return None
