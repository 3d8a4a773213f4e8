"""Dead letters for the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.app.commands import command_edits
from muster.definitions.library import Library
from muster.engine.actions import Actions
from muster.engine.letters import DeadLetters, redrivers
from muster.engine.programs import Programs
from muster.engine.resending import Resending
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.node_type import Catalogue
from muster.nodes.message_schemas import MessageSchemas
from muster.store.acts import ExecutionActs
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.dead_letters import DeadLetterRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository


@asynccontextmanager
async def dead_letters(
    database: Database,
    workflows: WorkflowRepository,
    templates: TemplateRepository,
    catalogue: Catalogue,
    schemas: MessageSchemas,
) -> AsyncIterator[DeadLetters]:
    """Dead letters beside an instance that may be running elsewhere: it finds what was tried again, and
    publishes what was sent again."""

    async def notice() -> None:
        """Nobody drives executions here."""

    clock, committer = SystemClock(), GroupCommitter(database)
    ids = TimeOrderedIds(clock)
    library = Library(workflows, templates, catalogue, ids)
    programs = Programs(workflows.document, catalogue.node_types)
    acts, records = ExecutionActs(committer), ExecutionRecords(database)
    actions = Actions(records, acts, library, programs, clock, ids, notice)
    try:
        kept = DeadLetterRepository(database, committer)
        edits = command_edits(records, programs, schemas)
        commands = Resending(kept, _nobody_publishes, edits)
        yield DeadLetters(kept, redrivers(actions, Resending(kept, _nobody_publishes), commands))
    finally:
        await committer.close()


def _nobody_publishes() -> None:
    """Not here."""
