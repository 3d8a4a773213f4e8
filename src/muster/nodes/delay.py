"""delay: the execution rests, and takes no room while it does."""

from datetime import datetime, timedelta

from muster.definitions.steps.words import shown
from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.state import Failure, Phase
from muster.expr import ExpressionError
from muster.expr.functions.times import by_months, instant, parse_period
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.model.problems import Level, Problem
from muster.nodes.parts import choice, config, missing
from muster.nodes.resolved import BadParameter

_UNITS = {
    "milliseconds": timedelta(milliseconds=1),
    "seconds": timedelta(seconds=1),
    "minutes": timedelta(minutes=1),
    "hours": timedelta(hours=1),
    "days": timedelta(days=1),
}
_LONGEST = timedelta(days=36_600)
_EXAMPLE: JsonObject = {"duration": 2, "unit": "seconds"}


def check(config: JsonView) -> tuple[Problem, ...]:
    if "duration" not in config and "until" not in config:
        return (missing("There should be a `duration` or `until`."),)
    if "unit" in config and _says_its_own(config.get("duration")):
        message = "`unit` is ignored: the duration says its own."
        return (Problem("IGNORED_FIELD", "/unit", message, Level.WARNING),)
    return ()


def _says_its_own(duration: object) -> bool:
    return isinstance(duration, str) and not duration.isdigit() and "{" not in duration


def say(config: JsonView) -> tuple[str, ...]:
    if "until" in config:
        return (f"Rest until {shown(config['until'])}.",)
    unit = "" if _says_its_own(config.get("duration")) else f" {config.get('unit', 'seconds')}"
    return (f"Rest for {shown(config.get('duration'))}{unit}.",)


TYPE = NodeType(
    name="delay",
    kind=NodeKind.WAIT,
    category="Logic",
    title="Delay",
    description="Rests for a length of time, or until a moment.",
    schema=config(
        {
            "duration": {
                "type": ["string", "number"],
                "format": "period",
                "title": "Duration",
                "description": "A number of `unit`s, or a length of time such as `5m`, `PT5M` or `P1Y`.",
                "examples": [2, "5m", "PT24H", "P1M"],
            },
            "unit": choice("Unit", [*_UNITS], default="seconds"),
            "until": {
                "type": "string",
                "format": "instant",
                "title": "Until",
                "examples": ["2030-01-31T09:00:00Z", "#{item.startDate}"],
            },
        }
    ),
    examples=(_EXAMPLE,),
    sets=sets_nothing,
    check=check,
    say=say,
)


def delay(params: JsonObject, call: Call) -> Outcome:
    """Park until it is time; what has no time left, or negative time, is done at once."""
    if call.woken:
        return Done()
    try:
        rest = _rest(params, call.now)
    except BadParameter as bad:
        return Failure("BadParameter", str(bad))
    return Suspend(Phase.PAUSED, NodeStatus.PAUSED, call.now + rest) if rest > timedelta(0) else Done()


def _rest(params: JsonObject, now: datetime) -> timedelta:
    """How long to rest from `now` on. `until` goes before `duration`; null counts as not given."""
    name = "until" if params.get("until") is not None or "duration" not in params else "duration"
    try:
        rest = _until(params, now) if name == "until" else _for(params, now)
    except ExpressionError as error:
        raise BadParameter(f"`{name}`: {error.message}") from None
    except (OverflowError, ValueError):
        raise BadParameter(f"`{name}` is out of all bounds") from None
    if rest > _LONGEST:
        raise BadParameter(f"`{name}` is more than a hundred years away")
    return rest


def _until(params: JsonObject, now: datetime) -> timedelta:
    return instant(params.get("until")) - now


def _for(params: JsonObject, now: datetime) -> timedelta:
    """Years and months are the calendar's, in UTC."""
    count = _count(params["duration"])
    if count is None:
        months, length = parse_period(params["duration"])
        return by_months(now, months) - now + length
    return count * _UNITS[str(params.get("unit", "seconds"))]


def _count(duration: Json) -> int | float | None:
    """How many units it gives; None: it says its own unit."""
    if isinstance(duration, str):
        return int(duration) if duration.isdecimal() and len(duration) <= 12 else None
    return None if isinstance(duration, bool) or not isinstance(duration, int | float) else duration
