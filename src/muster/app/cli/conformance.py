"""`muster conformance`: whether a database, a bus and a cache are what Muster relies on."""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from muster.app.cli.output import FAILED, INTERRUPTED, UNAVAILABLE, AsJson, print_json, run, stop

if TYPE_CHECKING:
    from muster.app.settings import Settings
    from muster.conformance.checks import Result
    from muster.conformance.suite import Named

_STYLES = {"ok": ("ok", "green"), "failed": ("FAILED", "red"), "skipped": ("skipped", "yellow")}


def conformance(
    db: Annotated[
        str | None,
        typer.Option(help="The database to try, as DB_URL has it; else SQLite in a temporary folder."),
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(help="The brokers to try, HOST:PORT,…; else the embedded bus.")
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(help="The Redis to try, as REDIS_URL has it; else the cache in this process."),
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(help="A check to leave out, as PART.NAME or PART; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that this database, these brokers and this Redis behave as Muster relies on.

    Works under names of its own, muster-conformance-…, which it removes afterwards; nothing that is there is
    touched. User and password of the database, and what Kafka's client is set to, are taken from the settings
    where the addresses have none.
    """
    from muster.app.cli.opening import loaded_settings
    from muster.conformance.suite import PARTS, names

    left_out = set(skip or ())
    if unknown := sorted(left_out - set(names()) - PARTS):
        stop(f"There is no check {unknown[0]!r}. There are: {', '.join(names())}.")
    named = _named(loaded_settings().settings, db, kafka, redis)
    results: list[Result] = []

    def told(result: "Result") -> None:
        results.append(result)
        if not as_json:
            _say(result)

    try:
        well = run(_run(named, told, left_out))
    except asyncio.CancelledError:
        stop("", INTERRUPTED)
    if as_json:
        print_json({"ok": well, "checks": [_json(result) for result in results]})
    else:
        _sum_up(results)
    if not well:
        stop("", FAILED)


def _named(settings: "Settings", db: str | None, kafka: str | None, redis: str | None) -> "Named":
    from muster.app.bus import client_of
    from muster.cache.redis import BadAddress, check_address
    from muster.conformance.suite import Named

    if redis is not None:
        try:
            check_address(redis)
        except BadAddress as error:
            stop(f"--redis: {error}.")
    password = settings.database.password
    client = None
    if kafka is not None:
        brokers = settings.kafka.model_copy(update={"bootstrap_servers": kafka.split(",")})
        client = client_of(brokers, "muster-conformance")
    return Named(
        db, settings.database.user, password.get_secret_value() if password else None, client, redis or ""
    )


async def _run(named: "Named", told: "Callable[[Result], None]", left_out: set[str]) -> bool:
    from muster.conformance.places import CannotBegin
    from muster.conformance.suite import run_suite
    from muster.engine.bus import BadClient, BusAway
    from muster.engine.cache import Away
    from muster.store.address import BadAddress
    from muster.store.database import Unavailable

    _end_well_when_told()
    # What is found is told as results; what clients warn of beside that (a fenced producer, a key that is
    # taken) is what was provoked.
    logging.disable(logging.CRITICAL)
    try:
        return await run_suite(named, told, left_out)
    except (BadAddress, BadClient) as error:
        stop(f"{error}.")
    except CannotBegin as error:
        stop(str(error), UNAVAILABLE)
    except Unavailable as error:
        stop(f"The database cannot be reached: {error}.", UNAVAILABLE)
    except BusAway as error:
        stop(f"Kafka cannot be reached: {error}.", UNAVAILABLE)
    except Away as error:
        stop(f"Redis cannot be reached: {error}.", UNAVAILABLE)
    finally:
        logging.disable(logging.NOTSET)


def _end_well_when_told() -> None:
    """SIGTERM ends as Ctrl-C does: what was made is removed."""
    task = asyncio.current_task()
    assert task is not None, "coroutines run in tasks"
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _say(result: "Result") -> None:
    word, color = _STYLES[result.verdict]
    mark = typer.style(f"{word:<7}", fg=color)
    typer.echo(f"{mark}  {result.part}.{result.name}: {result.promise} ({result.seconds:.1f} s)")
    if result.found:
        typer.echo(f"         {result.found}")
    if result.verdict == "failed":
        typer.echo(f"         {result.otherwise}")


def _sum_up(results: "list[Result]") -> None:
    counts = {word: sum(result.verdict == word for result in results) for word in _STYLES}
    typer.echo(f"{counts['ok']} hold, {counts['failed']} failed, {counts['skipped']} skipped.")


def _json(result: "Result") -> dict[str, object]:
    return {
        "part": result.part,
        "name": result.name,
        "verdict": result.verdict.value,
        "promise": result.promise,
        "found": result.found,
        "otherwise": result.otherwise,
        "seconds": round(result.seconds, 3),
    }
