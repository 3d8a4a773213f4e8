"""delay: the execution rests, and takes no room while it does."""

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.model.problems import Level, Problem
from muster.nodes.parts import choice, config, missing

_UNITS = ["milliseconds", "seconds", "minutes", "hours", "days"]
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
                "format": "duration",
                "title": "Duration",
                "description": "A number of `unit`s, or a length of time such as `5m` or `PT5M`.",
                "examples": [2, "5m", "PT24H"],
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
