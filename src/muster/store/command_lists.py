"""Commands as people find them."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Row, select

from muster.model.command import CommandRecord
from muster.model.stored import Page
from muster.nodes.command_replies import WantedCommands
from muster.store.commands import K
from muster.store.database import Database
from muster.store.paging import read_page
from muster.store.tables import ID_LENGTH, workflow_kafka_commands
from muster.store.types import is_storable

SHOWN = [workflow_kafka_commands.c[field.name] for field in fields(CommandRecord)]


class CommandLists:
    """`nodes.command_replies.CommandRecords` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self, institute_id: str | None, wanted: WantedCommands, page: Page
    ) -> tuple[Sequence[CommandRecord], str | None]:
        chosen = select(*SHOWN)
        given = {
            K.institute_id: institute_id,
            K.status: wanted.status,
            K.workflow_instance_id: wanted.execution_id,
            K.workflow_id: wanted.workflow_id,
            K.command_topic: wanted.topic,
            K.correlation_id: wanted.correlation_id,
        }
        for column, value in given.items():
            if value is not None:
                chosen = chosen.where(column == value)
        return await self._database.read(
            lambda connection: read_page(
                connection, "commands", chosen, [K.id], page, _record, newest_first=True
            )
        )

    async def get(self, institute_id: str | None, command_id: str) -> CommandRecord | None:
        if not is_storable(command_id, ID_LENGTH):
            return None
        chosen = select(*SHOWN).where(K.id == command_id)
        row = await self._database.read(lambda connection: connection.execute(chosen).first())
        return None if row is None or institute_id not in (None, row.institute_id) else _record(row)


def _record(row: Row[Any]) -> CommandRecord:
    return CommandRecord(**row._mapping)
