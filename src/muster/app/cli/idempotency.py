"""Trying idempotency settings, without a server or a database."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from muster.app.cli.definitions import File
from muster.app.cli.output import FAILED, AsJson, print_json, print_rows, read_input, stop

if TYPE_CHECKING:
    from muster.api.idempotency_shapes import PreviewedEvent

idempotency = typer.Typer(help="Keys by which repeats are recognised.", no_args_is_help=True)


@idempotency.command()
def preview(file: File, as_json: AsJson = False) -> None:
    """Try a setting on sample events: the key of each, and which would be skipped or refused.

    The file has `setting`, `triggerId` and `events`, each with `context`, `eventType`, `eventId` and `at`.
    """
    from muster.api.idempotency_shapes import IdempotencyPreview
    from muster.api.previewing import previewed
    from muster.api.problems import Refused
    from muster.api.reading import shaped
    from muster.definitions import text
    from muster.model.problems import AuthorError

    try:
        body = shaped(text.read(read_input(file)), IdempotencyPreview)
        results = previewed(body, datetime.now(UTC)).results
    except AuthorError as error:
        stop(f"{file}: {error}", FAILED)
    except Refused as refused:
        places = [f"{problem.pointer}: {problem.message}" for problem in refused.problems]
        stop("\n".join(f"{file}: {said}" for said in places or [refused.detail]), FAILED)
    if as_json:
        print_json([result.model_dump(by_alias=True) for result in results])
    else:
        rows = [_row(number, result) for number, result in enumerate(results, start=1)]
        print_rows(rows, ["event", "status", "key", "why"], "There are no events.")


def _row(number: int, result: "PreviewedEvent") -> dict[str, object]:
    why = result.message
    if result.duplicate_of is not None:
        why = f"the key of event {result.duplicate_of + 1}"
    return {"event": number, "status": result.status, "key": result.key, "why": why}
