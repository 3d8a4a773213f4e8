"""Whether a request is sent again, and after how long. Pure: chance and time are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeAlias, assert_never

from muster.client.errors import MusterError, Unreachable, code_of, problem_of, refusal
from muster.client.requests import Request

# With these the server says that it has not begun.
_NOTHING_DONE = frozenset({"UNAVAILABLE", "PROVIDER_UNAVAILABLE", "TOO_MANY_STREAMS"})


@dataclass(frozen=True, slots=True)
class Retries:
    """How long to go on: at most so many `tries`, and no longer than `within` seconds in all. The pauses
    double from `first` to `longest`, and each is drawn between half of that and all of it; a `Retry-After`
    of the server's is waited for at least."""

    tries: int = 8
    first: float = 0.25
    longest: float = 10.0
    within: float = 60.0


NEVER = Retries(tries=1)


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` have names in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class NotSent:
    """Nothing has reached the server: there was no connection."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """It was sent, and no answer came: the server may have carried it out."""

    reason: str


Outcome: TypeAlias = Answer | NotSent | Lost


@dataclass(frozen=True, slots=True)
class Again:
    after: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    error: MusterError


Decision: TypeAlias = Answer | Again | GiveUp


@dataclass(frozen=True, slots=True)
class Situation:
    """How often it was tried, this time included; the seconds since the first; what time it is; and what
    chance has drawn, from 0 to 1."""

    tried: int
    elapsed: float
    now: datetime
    chance: float


def decide(retries: Retries, request: Request, outcome: Outcome, situation: Situation) -> Decision:
    """The answer, if it is one; or when to try again; or why not."""
    if isinstance(outcome, Answer) and outcome.status < 400:
        return outcome
    if not _may_repeat(request, outcome) or situation.tried >= retries.tries:
        return GiveUp(_error(outcome))
    after = max(_pause(retries, situation), _asked_for(outcome, situation.now))
    if situation.elapsed + after > retries.within:
        return GiveUp(_error(outcome))
    return Again(after)


def _may_repeat(request: Request, outcome: Outcome) -> bool:
    """Where it cannot have been done, always; where it may have been, only what may be done twice."""
    match outcome:
        case NotSent():
            return True
        case Lost():
            return request.repeatable
        case Answer(status=429):
            return True
        case Answer(status=503):
            return request.repeatable or code_of(problem_of(outcome.content)) in _NOTHING_DONE
        case Answer(status=502 | 504):
            return request.repeatable
        case Answer():
            return False
        case _:
            assert_never(outcome)


def _pause(retries: Retries, situation: Situation) -> float:
    full = min(retries.longest, retries.first * 2.0 ** (situation.tried - 1))
    return full * (1 + situation.chance) / 2


def _asked_for(outcome: Outcome, now: datetime) -> float:
    """The seconds that the server asks to be left alone for: a number, or a date."""
    text = outcome.headers.get("retry-after", "") if isinstance(outcome, Answer) else ""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (date.astimezone(UTC) - now).total_seconds())


def _error(outcome: Outcome) -> MusterError:
    match outcome:
        case Answer():
            return refusal(outcome.status, outcome.content)
        case NotSent():
            return Unreachable(f"No Muster answers: {outcome.reason}.", in_doubt=False)
        case Lost():
            said = f"The answer was lost ({outcome.reason}): it may have been done, or not."
            return Unreachable(said, in_doubt=True)
        case _:
            assert_never(outcome)
