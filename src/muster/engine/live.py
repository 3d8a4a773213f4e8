"""An execution in the hands of this instance: what it knows, what happened to it, what is not written yet."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from muster.engine.advance import advance, in_doubt, is_awaited
from muster.engine.announcing import led_to
from muster.engine.journal import MORE_TIME, JournalRow, Signal, SignalKind
from muster.engine.node_claims import NodeDone
from muster.engine.openings import Closing, Opening
from muster.engine.owned import Progress
from muster.engine.program import Program
from muster.engine.state import (
    Cancelled,
    Completed,
    Decided,
    Event,
    Failure,
    Held,
    Phase,
    Released,
    Run,
    State,
    Suspended,
    Todo,
    Token,
    Woken,
)
from muster.engine.view import Facts, scope_of
from muster.expr import Scope
from muster.kit.clock import passed
from muster.model.aside import Unread, asides_in, filled
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.model.node_type import NodeKind

MOST_FAILURES = 100
MOST_UNWRITTEN = 200
STOPS = (SignalKind.HOLD, SignalKind.CANCEL)
AT_WORK = (Phase.READY, Phase.RUNNING)


@dataclass(slots=True)
class Live:
    """Mutable, and so the affair of one task.

    `rows`, what waits open (`opens`) and the visits whose openings are to be closed (`closes`) are not
    written yet; if they say what an effect did, or what is open, this `owes_a_write`. What an ending has
    closed is `closed`. `began` is when a visit that is not over began, and `failures` are its failed
    attempts; `answers` are what woken visits were given, and `claimed` the keys of what visits do once.
    Signals have `arrived`, and when they are `taken` they stay with the store until the next checkpoint;
    an answer to a visit that has not parked yet is `early`.
    `confirmed` is when, by the loop's clock, the lease was last known to be this instance's, and `progressed`
    when something of this was last made durable. Where this is `handed_on`, nothing more begins here.
    `found_by` is the digest of the terms that it is found by; None: not known here. It was taken over
    `takeovers` times since it made progress, and claimed at `claimed_at`, by the database's clock. Where the
    workflow is watched, `led_to` says where visits went on to that are not written yet.
    """

    facts: Facts
    fence: int
    program: Program
    state: State
    seq: int = 0
    rows: list[JournalRow] = field(default_factory=list)
    opens: list[Opening] = field(default_factory=list)
    closes: list[tuple[str, int]] = field(default_factory=list)
    closed: set[tuple[str, int]] = field(default_factory=set)
    has_opened: bool = False
    began: dict[tuple[str, int], datetime] = field(default_factory=dict)
    failures: dict[tuple[str, int], list[JsonObject]] = field(default_factory=dict)
    answers: dict[tuple[str, int], Json] = field(default_factory=dict)
    claimed: dict[tuple[str, int], str] = field(default_factory=dict)
    arrived: dict[int, Signal] = field(default_factory=dict)
    early: dict[int, Signal] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)
    owes_a_write: bool = False
    disturbance: "asyncio.Future[None] | None" = None
    confirmed: float = 0.0
    progressed: float = 0.0
    handed_on: bool = False
    found_by: str | None = None
    takeovers: int = 0
    claimed_at: datetime | None = None
    led_to: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def hand_on(self) -> None:
        """Let whoever drives this finish what runs and leave the rest to another instance."""
        self.handed_on = True
        self.disturb()

    def receive(self, signals: Iterable[Signal]) -> None:
        """Put signals in front of whoever drives this. One that came before changes nothing."""
        fresh = {signal.id: signal for signal in signals if signal.id not in self.taken}
        self.early.update({number: signal for number, signal in fresh.items() if self._is_early(signal)})
        ready = {number: signal for number, signal in fresh.items() if number not in self.early}
        self.arrived.update(ready)
        if ready:
            self.disturb()

    def _is_early(self, signal: Signal) -> bool:
        """Whether it answers a visit that is still at work: one that opens something and then takes its time
        may be answered before it parks."""
        if signal.kind is not SignalKind.ANSWER:
            return False
        visit = (signal.payload["node"], signal.payload["visit"])
        running = (token for token in self.state.tokens if token.phase in AT_WORK)
        return any((token.node, token.visit) == visit for token in running)

    def is_asked_to_stop(self) -> bool:
        """Whether somebody wants nothing more to begin, and whoever drives this has not taken it yet."""
        return any(signal.kind in STOPS for signal in self.arrived.values())

    async def rest(self, seconds: float | None) -> None:
        """Wait until something disturbs, or for so long at most."""
        loop = asyncio.get_running_loop()
        self.disturbance = loop.create_future()
        alarm = None if seconds is None else loop.call_later(max(seconds, 0), self.disturb)
        try:
            await self.disturbance
        finally:
            self.disturbance = None
            if alarm is not None:
                alarm.cancel()

    def disturb(self, _done: object = None) -> None:
        """Something has happened that whoever drives this should look at."""
        if self.disturbance is not None and not self.disturbance.done():
            self.disturbance.set_result(None)

    def take_signals(self) -> list[Event]:
        """What has arrived, as events, in the order it came. Each takes its place in the journal's order, so
        that whoever takes over finds that it came before what followed from it."""
        if not self.arrived:
            return []
        signals = [self.arrived[number] for number in sorted(self.arrived)]
        self.arrived.clear()
        for signal in signals:
            self.seq += 1
            self.taken[signal.id] = self.seq
        return [self._event(signal) for signal in signals]

    def take_again(self, signal: Signal, seq: int) -> Event:
        """What an earlier owner took, at the place where it did so."""
        self.seq = self.taken[signal.id] = seq
        return self._event(signal)

    def _event(self, signal: Signal) -> Event:
        match signal.kind:
            case SignalKind.HOLD:
                return Held()
            case SignalKind.RELEASE:
                return Released()
            case SignalKind.CANCEL:
                reason, undo = signal.payload.get("reason"), signal.payload.get("compensate")
                return Cancelled(str(reason or "cancelled by hand"), undo is True)
            case SignalKind.ANSWER:
                node, visit = str(signal.payload["node"]), signal.payload["visit"]
                assert isinstance(visit, int)
                woken = Woken(node, visit, str(signal.payload.get("correlation", "")))
                if is_awaited(self.state, woken):
                    self.answers[node, visit] = signal.payload.get("answer")
                return woken
            case SignalKind.DECIDE:
                return self._decided(signal)
            case _:
                assert_never(signal.kind)

    def _decided(self, signal: Signal) -> Decided:
        """What a person says of a visit in doubt. That it was done is a result: the journal has it too."""
        payload = signal.payload
        node, visit, output = str(payload["node"]), payload["visit"], payload.get("output")
        assert isinstance(visit, int)
        redo = payload.get("outcome") == "redo"
        token = in_doubt(self.state, node, visit)
        if token is not None and not redo:
            at = datetime.fromisoformat(str(payload["at"]))
            began, seq = self.began.pop((node, visit), at), self.taken[signal.id]
            row = JournalRow(node, visit, "", seq, token.attempt, NodeStatus.COMPLETED, began, at, output)
            self.rows.append(row)
            if dedupe := self.program.steps[node].dedupe:
                self.opens.append(NodeDone(node, visit, dedupe.kept_for))
        return Decided(node, visit, redo, output)

    def fail(self, node: str, visit: int, attempt: int, failure: Failure, at: datetime) -> JsonObject:
        """Keep a failed attempt with those before it, and answer the error as the journal has it: of what
        failed several times, every attempt."""
        told: JsonObject = {"type": failure.type, "message": failure.message}
        if failure.details is not None:
            told["details"] = failure.details
        history = self.failures.setdefault((node, visit), [])
        history.append({"attempt": attempt, "at": at.isoformat(), **told})
        del history[:-MOST_FAILURES]
        return told if len(history) == 1 else {**told, "attempts": list(history)}

    def happen(self, event: Event, now: datetime) -> tuple[Todo, ...]:
        """Take an event, and say what is to be done."""
        program = self.program
        decision = advance(program.graph, program.policies, self.facts, self.state, event, now)
        if program.watched and isinstance(event, Completed | Decided):
            before, after = self.state, decision.state
            self.led_to[event.node, event.visit] = led_to(
                program.graph, self.facts, before, after, event.node, now
            )
        self.state = decision.state
        if self.early and isinstance(event, Suspended):
            early, self.early = list(self.early.values()), {}
            self.receive(early)
        return decision.todo

    def fill(self, values: Mapping[str, Json]) -> None:
        """Put large values that were read into their places."""
        context, outputs = filled(self.state.context, values), filled(self.state.outputs, values)
        self.answers = {visit: filled({"": answer}, values)[""] for visit, answer in self.answers.items()}
        left = any(asides_in(context)) or any(asides_in(outputs))
        self.state = self.state._replace(context=context, outputs=outputs, has_asides=left)

    def answer(self, node: str, visit: int) -> Json:
        """What a woken visit was given. Raises `Unread` where that, or some of it, is aside."""
        answer = self.answers.get((node, visit))
        if unread := list(asides_in(answer)):
            raise Unread(unread)
        return answer

    @property
    def was_taken_over(self) -> bool:
        """Whether it has made no progress since."""
        return self.takeovers > 0

    def has_progressed(self) -> None:
        """Something of it is durable: it was not this one that brought its owners down."""
        self.takeovers = 0
        self.progressed = passed()

    def progress(self, rows: Sequence[JournalRow], opens: Sequence[Opening] = ()) -> Progress:
        """What a visit writes while it is under way."""
        return Progress(
            execution_id=self.facts.id,
            fence=self.fence,
            rows=tuple(rows),
            opens=tuple(opens),
            was_taken_over=self.was_taken_over,
        )

    def token(self, node: str, visit: int) -> Token | None:
        """The token of a visit that is not over."""
        return next((each for each in self.state.tokens if (each.node, each.visit) == (node, visit)), None)

    def has_timed_out(self, run: Run) -> bool:
        """Whether a woken visit was woken because its node's `timeout` is over, and by nothing else."""
        if not run.woken or self.program.steps[run.node].timeout is None:
            return False
        token, answer = self.token(run.node, run.visit), self.answers.get((run.node, run.visit))
        answered = (run.node, run.visit) in self.answers and not _is_more_time(answer)
        return token is not None and token.late and not answered

    def closing(self) -> Closing | None:
        """What is to be closed with the next write: what visits have left open that failed, and, once the
        execution comes to its end, what still waits."""
        ending = self.state.ending
        if ending is None and not self.closes:
            return None
        left = [(token.node, token.visit) for token in self.state.tokens if ending and self._waits(token)]
        visits = dict.fromkeys([*self.closes, *left])
        if not visits:
            return None
        told = ending.failure.message if ending else "no longer waited for"
        return Closing(tuple(visits), told, ending is not None and ending.compensate)

    def _waits(self, token: Token) -> bool:
        waits = self.program.steps[token.node].kind is NodeKind.WAIT and token.phase is not Phase.RUNNING
        return waits and (token.node, token.visit) not in self.closed

    @property
    def may_wait(self) -> bool:
        """Whether what is noted may be lost with this process: the workflow says so, and nobody else has to
        know of it."""
        if not self.program.in_cache or self.opens or self.was_taken_over or self.handed_on:
            return False
        asks = self.program.asks
        asked = asks and any(row.node in asks for row in self.rows)
        return not asked and len(self.rows) < MOST_UNWRITTEN and self.closing() is None

    @property
    def concerns_others(self) -> bool:
        """Whether others may have come due by what was written of this: its parent, its children, or who is
        queued behind it."""
        return self.has_opened or self.facts.parent_id is not None or self.facts.is_limited

    def written(self, progress: Progress) -> None:
        """What was noted is durable."""
        self.has_opened = self.has_opened or bool(progress.opens or progress.closes)
        self.rows.clear()
        self.led_to.clear()
        self.opens.clear()
        self.closes.clear()
        self.owes_a_write = False
        if progress.rows:
            self.has_progressed()
        if progress.closes and self.state.ending:
            self.closed.update(progress.closes.visits)

    def scope(self, now: datetime, node: str = "", visit: int = 0, attempt: int = 1) -> Scope:
        return scope_of(self.facts, self.state, now, f"{node}/{visit}", attempt)


def _is_more_time(answer: Json) -> bool:
    return isinstance(answer, dict) and MORE_TIME in answer
