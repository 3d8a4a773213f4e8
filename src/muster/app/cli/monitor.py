"""`muster monitor`: whether what was counted is what happened."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, run, stop

if TYPE_CHECKING:
    from muster.model.json import JsonObject
    from muster.store.recounting import Difference, Verdict

monitor = typer.Typer(help="What is watched, held against itself.", no_args_is_help=True)

_MOST_SHOWN = 50


@monitor.callback()
def _several() -> None:
    """A group of commands, also while it has one."""


@monitor.command("verify")
def verify(
    repair: Annotated[bool, typer.Option("--repair", help="Make the counts what they should be.")] = False,
    to_now: Annotated[
        bool, typer.Option("--to-now", help="The last two minutes, too: for when nothing is being sent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count anew from the events and expectations, and hold every bucket against that.

    Works beside servers that run on the same database; the last two minutes are left out.
    """
    verdict = run(_verify(repair, to_now))
    wrong = len(verdict.differences)
    if as_json:
        print_json({**_json(verdict), "repaired": repair and wrong > 0})
    else:
        _say(verdict)
        if repair and wrong:
            typer.echo(f"{wrong} mended.")
    if wrong and not repair:
        stop("" if as_json else "`--repair` makes the counts what they should be.", FAILED)


async def _verify(repair: bool, to_now: bool) -> "Verdict":
    from muster.app.cli.opening import storage
    from muster.store.recounting import AT_REST, SETTLED, Recounting

    async with storage() as stored:
        recounting = Recounting(stored.database)
        verdict = await recounting.verify(AT_REST if to_now else SETTLED)
        if repair:
            await recounting.repair(verdict.differences)
        return verdict


def _say(verdict: "Verdict") -> None:
    columns = ("bucket", "version", "group", "node", "start", "counted", "happened")
    shown = [_row(each) for each in verdict.differences[:_MOST_SHOWN]]
    none = f"{verdict.buckets:,} buckets until {verdict.until:%Y-%m-%d %H:%M} UTC are what happened."
    print_rows(shown, columns, none)
    if (more := len(verdict.differences) - len(shown)) > 0:
        typer.echo(f"and {more:,} more.")


def _row(difference: "Difference") -> dict[str, object]:
    version_id, group_hash, node, start = difference.cell
    return {
        "bucket": difference.grain.value,
        "version": version_id,
        "group": group_hash[:8],
        "node": node,
        "start": start.isoformat(timespec="minutes"),
        "counted": "/".join(map(str, difference.counted)),
        "happened": "/".join(map(str, difference.happened)),
    }


def _json(verdict: "Verdict") -> "JsonObject":
    from muster.store.stage_counts import COUNTS

    return {
        "until": verdict.until.isoformat(),
        "buckets": verdict.buckets,
        "differences": [
            {
                "bucket": each.grain.value,
                "workflowVersionId": each.cell[0],
                "groupHash": each.cell[1],
                "node": each.cell[2],
                "bucketStart": each.cell[3].isoformat(),
                "counted": dict(zip(COUNTS, each.counted, strict=True)),
                "happened": dict(zip(COUNTS, each.happened, strict=True)),
            }
            for each in verdict.differences
        ],
    }
