"""A certificate, as people read it in a log, and as programs do."""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from muster.model.json import Json, JsonObject
from muster.sim.certify.certificate import Certificate
from muster.sim.certify.found import Outcome
from muster.sim.certify.judging import Repeat

MOST_LOSSES = 20
MOST_ENDINGS = 10


def shown(found: Certificate, holds: bool, strict: bool) -> Iterator[str]:
    """Line by line."""
    yield f"{found.workflow}: {'certified' if holds else 'NOT certified'}"
    yield ""
    yield from _section("RUNS", _runs(found))
    yield from _section("UNENDING", _unfinished(found))
    yield from _section("LOST", _losses(found) or ["nothing"])
    yield from _section("REPEATED", _repeats(found) or ["nothing"])
    yield from _section("ORDER", _order(found))
    yield from _section("TIMEOUTS", _timeouts(found) or ["none"])
    if why := _why(found, strict):
        yield ""
        yield from why


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f"{title if place == 0 else '':<10}{line}".rstrip()


def _runs(found: Certificate) -> list[str]:
    lines = [
        f"{found.runs}: {_many(found.ways, 'way')} through it, and {_many(found.crashes, 'crash', 'es')};"
        f" the usual way has {_many(found.commits, 'commit')}"
    ]
    if found.ways_left_out:
        lines.append(f"at least {_many(found.ways_left_out, 'more way')} left out: --runs allows for more")
    if found.crashes_left_out:
        lines.append(f"{_many(found.crashes_left_out, 'more crash', 'es')} left out: --runs allows for more")
    usual = found.usual
    if usual is not None and usual.status != "COMPLETED":
        lines.append(f"the usual way ends {ended(usual)}: is something missing in --context or --replies?")
    return lines


def _unfinished(found: Certificate) -> list[str]:
    return [f"{_by(each.script) or 'usually'}: {each.why}" for each in found.unfinished[:MOST_LOSSES]]


def _by(script: Sequence[str]) -> str:
    return ", ".join(script)


def _losses(found: Certificate) -> list[str]:
    lines = []
    for loss in found.losses[:MOST_LOSSES]:
        crash = f"crash {loss.crash}" if loss.crash else "without a crash"
        by = f" ({_by(loss.script)})" if loss.script else ""
        lines.append(f"{crash}{by}: {loss.what}")
    if len(found.losses) > MOST_LOSSES:
        lines.append(f"and {len(found.losses) - MOST_LOSSES} more")
    return lines


def _repeats(found: Certificate) -> list[str]:
    if not found.repeats:
        return []
    cells = [("NODE", "EFFECT", "KEY", "RUNS", "")]
    cells += [
        (each.node, each.what, _key(each), str(each.runs), _remark(each, found)) for each in found.repeats
    ]
    return list(_table(cells))


def _key(repeat: Repeat) -> str:
    return "yes" if repeat.keyed else "NO"


def _remark(repeat: Repeat, found: Certificate) -> str:
    if not repeat.keyed:
        if found.accepts(repeat):
            return "accepted"
        return f"first by a crash {repeat.crash}" if repeat.crash else "first without a crash"
    return "says something else when it is repeated" if repeat.changes else ""


def _order(found: Certificate) -> list[str]:
    lines = []
    if found.depends_on_order:
        lines.append("the outcome depends on it:")
        for ending in found.endings[:MOST_ENDINGS]:
            because = ", ".join(ending.because) or "usually"
            lines.append(f"  {because} ({_many(ending.orders, 'order')}): {ended(ending.outcome)}")
            lines.append(f"    {_path(ending.outcome)}")
            lines.append(f"    {_short(ending.outcome.output)}")
        if len(found.endings) > MOST_ENDINGS:
            lines.append(f"  and {len(found.endings) - MOST_ENDINGS} more outcomes")
    else:
        orders = sum(ending.orders for ending in found.endings)
        same = f"the outcome is the same in all {orders}"
        lines.append(same if orders > 1 else "nothing comes that could come in another order")
    for node, sets in found.went_on_with.items():
        choices = " or ".join(" and ".join(each) for each in sets)
        lines.append(f"{node} goes on with {choices}, whichever comes first")
    return lines


def _timeouts(found: Certificate) -> list[str]:
    return list(_table([(each.name, ended(each.outcome), _path(each.outcome)) for each in found.latenesses]))


def _why(found: Certificate, strict: bool) -> list[str]:
    """What to do about it."""
    lines = []
    for each in found.unkeyed:
        what = (
            "read `:_key` in its SQL"
            if each.what.startswith("action ")
            else "give it a key that stays the same"
        )
        node = each.node.rpartition(" > ")[2]
        lines.append(
            f"{node}: nobody can tell a repeat of this {each.what} from the first: {what},"
            f" or say --accept {node} if a repeat does no harm."
        )
    if found.unfinished:
        lines.append(
            "It has to come to an end: what it waits for may be missing in --replies, or it goes round."
        )
    if found.losses:
        lines.append("Something was lost. This is a mistake of Muster, or of a plug-in: please report it.")
    if strict and found.depends_on_order:
        lines.append("--strict: the outcome depends on the order in which things come.")
    if strict and found.ways_left_out + found.crashes_left_out:
        lines.append("--strict: not everything was tried.")
    if strict and found.usual is not None and found.usual.status != "COMPLETED":
        lines.append("--strict: the usual way does not complete.")
    return lines


def ended(outcome: Outcome) -> str:
    return f"{outcome.status} ({_short(outcome.error)})" if outcome.error else outcome.status


def _path(outcome: Outcome) -> str:
    return " > ".join(outcome.path)


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."


def _many(number: int, one: str, more: str = "s") -> str:
    return f"{number} {one}{more * (number != 1)}"


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# --- for programs ------------------------------------------------------------------------------------------


def said(found: Certificate, holds: bool, strict: bool) -> JsonObject:
    return {
        "workflow": found.workflow,
        "certified": holds,
        "strict": strict,
        "runs": {
            "total": found.runs,
            "ways": found.ways,
            "crashes": found.crashes,
            "commits": found.commits,
            "waysLeftOut": found.ways_left_out,
            "crashesLeftOut": found.crashes_left_out,
        },
        "unending": [{"why": each.why, "way": list(each.script)} for each in found.unfinished],
        "lost": [
            {"what": loss.what, "crash": str(loss.crash) if loss.crash else None, "way": list(loss.script)}
            for loss in found.losses
        ],
        "repeated": [_repeat(each, found) for each in found.repeats],
        "dependsOnOrder": found.depends_on_order,
        "outcomes": [
            {**_outcome(each.outcome), "orders": each.orders, "because": list(each.because)}
            for each in found.endings
        ],
        "timeouts": [{"name": each.name, **_outcome(each.outcome)} for each in found.latenesses],
        "goesOnWith": {node: [list(each) for each in sets] for node, sets in found.went_on_with.items()},
    }


def _repeat(each: Repeat, found: Certificate) -> JsonObject:
    return {
        "node": each.node,
        "effect": each.what,
        "keyed": each.keyed,
        "accepted": found.accepts(each),
        "runs": each.runs,
        "changes": each.changes,
        "crash": str(each.crash) if each.crash else None,
    }


def _outcome(outcome: Outcome) -> JsonObject:
    path: list[Json] = [*outcome.path]
    return {"status": outcome.status, "error": outcome.error, "path": path, "output": _output(outcome)}


def _output(outcome: Outcome) -> Json:
    """As a value; where a time is left aside, as a text."""
    try:
        output: Json = orjson.loads(outcome.output)
    except orjson.JSONDecodeError:
        return outcome.output
    return output
