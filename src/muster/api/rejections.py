"""Of several things that were asked for at once: why one of them could not be done."""

from collections.abc import Sequence

import structlog

from muster.api.execution_shapes import NotStarted, Rejected
from muster.api.parts import Parts
from muster.api.problems import Code, Refused, our_fault
from muster.api.shapes import ProblemEntry
from muster.definitions.library import NotFound
from muster.engine.control import Conflict
from muster.engine.ports import NotWritten
from muster.model.problems import AuthorError

_log = structlog.get_logger("muster.api")


def check_written(outcomes: Sequence[object]) -> None:
    """If nothing at all could be written, that is the answer."""
    away = [outcome for outcome in outcomes if isinstance(outcome, NotWritten)]
    if away and len(away) == len(outcomes):
        raise away[0]


def rejected(error: BaseException, parts: Parts) -> Rejected:
    refused = _refused(error, parts)
    errors = [ProblemEntry.model_validate(problem) for problem in refused.problems]
    return Rejected(error=NotStarted(code=refused.code, message=refused.detail, errors=errors))


def _refused(error: BaseException, parts: Parts) -> Refused:
    match error:
        case Refused():
            return error
        case NotFound():
            return Refused(Code.NOT_FOUND, f"{error}.")
        case Conflict():
            return Refused(Code.CONFLICT, f"{error}.")
        case AuthorError():
            return Refused(Code.INVALID_BODY, str(error), problems=error.problems)
        case NotWritten() if isinstance(error.__cause__, parts.unavailable):
            return Refused(Code.UNAVAILABLE, "The database could not be written. Nothing was written.")
        case NotWritten():
            return Refused(
                Code.OUTCOME_UNKNOWN, "The database left during the commit: look before you repeat."
            )
        case Exception() if isinstance(error, parts.unavailable):
            return Refused(Code.UNAVAILABLE, "The database could not be reached. Nothing was written.")
        case Exception():
            # Others have started: who asked must hear of them.
            _log.error("one of several executions could not be started", exc_info=error)
            return our_fault()
        case _:
            raise error
