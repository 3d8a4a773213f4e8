"""Dead letters: what could not be brought to its end, kept until a person has dealt with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muster.definitions.library import NotFound
from muster.engine.actions import Actions, By, Note, Retry
from muster.engine.control import Conflict
from muster.engine.outbox import OutgoingMessage
from muster.model.access import Caller
from muster.model.json import Json, JsonObject
from muster.model.stored import AuditEntry, Page


class LetterKind(StrEnum):
    """What it was that failed. `source` and `key` say where to find it."""

    EXECUTION = "execution"
    MESSAGE = "message"
    COMMAND = "command"


class LetterStatus(StrEnum):
    """Nobody has dealt with it yet; it was tried again; it was let be."""

    OPEN = "open"
    REDRIVEN = "redriven"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Of an execution, `source` is its workflow's key and `key` its id; of a message, its topic, and its name
    with partition and offset; of a command, its topic and its correlation id."""

    id: int
    kind: LetterKind
    source: str
    key: str
    value: Json
    headers: JsonObject | None
    error_type: str
    error_message: str
    attempts: Json
    status: LetterStatus
    institute_id: str
    created_at: datetime
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class WantedLetters:
    """Which letters a list is to show. None: whichever."""

    kind: LetterKind | None = None
    status: LetterStatus | None = None
    source: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


class Letters(Protocol):
    """Dead letters as they are kept."""

    async def get(self, institute_id: str | None, letter_id: int) -> DeadLetter | None: ...

    async def list(
        self, institute_id: str | None, wanted: WantedLetters, page: Page
    ) -> tuple[Sequence[DeadLetter], str | None]: ...

    async def open_of(self, institute_id: str | None, kind: LetterKind, key: str) -> int | None:
        """The letter about this thing that nobody has dealt with."""
        ...

    async def dismiss(self, letter_id: int, note: Note) -> bool:
        """False: somebody else has dealt with it first. Raises `Overtaken`."""
        ...

    async def resend(self, letter_id: int, note: Note, message: OutgoingMessage) -> bool:
        """Mark it as tried again, and put its message into the outbox with that. False: somebody else has
        dealt with it first, and nothing is sent. Raises `Overtaken`."""
        ...


class Redriver(Protocol):
    """Tries again what one kind of letter is about, and marks the letter with it: both or neither."""

    async def __call__(self, letter: DeadLetter, by: By, retry: Retry) -> None: ...


def redrivers(actions: Actions, messages: Redriver, commands: Redriver) -> Mapping[LetterKind, Redriver]:
    """A redriver for every kind there is."""

    async def execution(letter: DeadLetter, by: By, retry: Retry) -> None:
        await actions.retry(letter.key, by, retry, letter.id)

    return {LetterKind.EXECUTION: execution, LetterKind.MESSAGE: messages, LetterKind.COMMAND: commands}


class DeadLetters:
    """What people do with dead letters. Of several who deal with one letter, one wins."""

    def __init__(self, letters: Letters, redrivers: Mapping[LetterKind, Redriver]) -> None:
        self._letters, self._redrivers = letters, redrivers

    async def get(self, letter_id: int, actor: Caller) -> DeadLetter:
        found = await self._letters.get(actor.institute_id, letter_id)
        if found is None:
            raise NotFound(f"There is no dead letter {letter_id}")
        return found

    async def list(
        self, actor: Caller, wanted: WantedLetters, page: Page
    ) -> tuple[Sequence[DeadLetter], str | None]:
        return await self._letters.list(actor.institute_id, wanted, page)

    async def redrive(self, letter_id: int, by: By, retry: Retry) -> DeadLetter:
        """Try again what it is about. Raises `Conflict` if somebody has dealt with it."""
        letter = await self._open(letter_id, by)
        await self._redrivers[letter.kind](letter, by, retry)
        return await self.get(letter_id, by.actor)

    async def dismiss(self, letter_id: int, by: By) -> DeadLetter:
        """Let it be. Raises `Conflict` if somebody has dealt with it."""
        letter = await self._open(letter_id, by)
        audit = AuditEntry(
            "dead_letter",
            str(letter.id),
            "dismiss",
            by.actor.name,
            letter.institute_id,
            {"reason": by.reason},
        )
        if not await self._letters.dismiss(letter_id, by.note(audit)):
            raise Conflict("Somebody else has dealt with the letter meanwhile")
        return await self.get(letter_id, by.actor)

    async def dismiss_of(self, execution_id: str, by: By) -> None:
        """Let be the open letter of an execution."""
        letter_id = await self._letters.open_of(by.actor.institute_id, LetterKind.EXECUTION, execution_id)
        if letter_id is None:
            raise Conflict("The execution has no open dead letter")
        await self.dismiss(letter_id, by)

    async def _open(self, letter_id: int, by: By) -> DeadLetter:
        letter = await self.get(letter_id, by.actor)
        if letter.status is not LetterStatus.OPEN:
            raise Conflict(f"The letter is {letter.status}: it has been dealt with")
        return letter
