"""What `on` and `forEach` do, in words."""

from muster.definitions.steps.words import quoted, shown, without_secrets
from muster.model.json import Json, JsonObject, JsonView

_OF_THE_LOOP = ("operation", "eval", "on", "cases", "default", "forEach", "concurrency", "batchSize")
_MOST_CASES = 12


def say_iteration(config: JsonView) -> tuple[str, ...]:
    """One sentence per level of `forEach`; none where there is nothing to go through."""
    if "on" not in config and "forEach" not in config:
        return ()
    items = shown(config["on"]) if "on" in config else "the list"
    loop = config.get("forEach")
    return _say_loop(f"For each item of {items}", loop if isinstance(loop, dict) else {})


def _say_loop(start: str, loop: JsonObject) -> tuple[str, ...]:
    cases = loop.get("cases")
    if isinstance(cases, dict):
        said = f"{start}, by {shown(loop.get('on'))}: {say_cases(cases, loop.get('default'))}."
    else:
        body = say_body({key: value for key, value in loop.items() if key not in _OF_THE_LOOP})
        changed = loop.get("eval") not in (None, "#{item}", "@{item}", "${item}")
        said = f"{start}{', as ' + shown(loop['eval']) if changed else ''}{': ' + body if body else ''}."
    inner = loop.get("forEach")
    return (said, *_say_loop("Within it, for each item", inner)) if isinstance(inner, dict) else (said,)


def say_cases(cases: JsonObject, default: Json) -> str:
    """`1 → subject “…”, 7 → subject “…”, otherwise → …`."""
    said = [f"{quoted(value)} → {say_body(body)}" for value, body in list(cases.items())[:_MOST_CASES]]
    if len(cases) > _MOST_CASES:
        said.append(f"and {len(cases) - _MOST_CASES} more")
    said.append(f"otherwise → {say_body(default)}" if default is not None else "otherwise skip it")
    return ", ".join(said)


def say_body(body: Json) -> str:
    """What is done for one item: `subject “…”, body “…”`."""
    if not isinstance(body, dict):
        return quoted(body)
    return ", ".join(f"{key} “{_say_value(key, value)}”" for key, value in body.items() if key != "forEach")


def _say_value(key: str, value: Json) -> str:
    if key in ("auth", "headers"):
        return "…"
    return quoted(without_secrets(value) if key == "url" and isinstance(value, str) else value)
