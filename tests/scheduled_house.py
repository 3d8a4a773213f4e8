"""An engine for tests of schedules: workflows in a database, schedules for them, and the pass that fires."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from engine_house import TYPES, Told
from muster.definitions.library import Library
from muster.engine.control import Control
from muster.engine.occurrence_pass import OccurrencePass
from muster.engine.ports import NotWritten
from muster.engine.scheduling import Scheduling
from muster.model.access import Caller, How, Role
from muster.model.node_type import Catalogue
from muster.model.schedule import StoredSchedule
from muster.model.workflow import Schedule
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.due_schedules import DueScheduleRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.schedules import ScheduleRepository
from muster.store.tables import workflow_execution, workflow_schedule
from muster.store.templates import TemplateRepository
from waiting_house import Waiting

E, S = workflow_execution.c, workflow_schedule.c
ADA = Caller("ada", frozenset({Role.ADMIN}), None, How.TOKEN)
TROUBLE = (Unavailable, CommitUnknown, NotWritten)
EVERY_MINUTE = Schedule("CRON", cron_expression="* * * * *")


class Scheduled(Waiting):
    """A house with schedules. `outcomes` are what the firing pass told, `lateness` how late it was.
    `last_hour` is the time of what is hourly that was half an hour ago: missed, if nobody has dealt with it;
    and no other comes while a test runs."""

    def __init__(self, database: Database, told: Told | None = None, name: str = "here") -> None:
        super().__init__(database, told, name)
        self.last_hour = last_minute() - timedelta(minutes=30)
        self.outcomes: list[str] = []
        self.lateness: list[float] = []
        self.library = Library(
            self.workflows, TemplateRepository(database, self.clock), Catalogue(TYPES), self.ids
        )
        records = ExecutionRecords(database)
        self.control = Control(self.instance, records, self.library, self.known, self.clock, self.ids)
        self.due = DueScheduleRepository(database)
        schedules = ScheduleRepository(database)
        self.scheduling = Scheduling(schedules, self.control, self.library, self.ids, wake=lambda: None)
        self.occurrences = OccurrencePass(self.due, self.control, self, TROUBLE)

    def occurred(self, outcome: str, lateness: float | None = None) -> None:
        self.outcomes.append(outcome)
        if outcome == "started" and lateness is not None:
            self.lateness.append(lateness)

    def hourly(self, misfire: str = "fire_all", overlap: str = "allow", **facts: Any) -> Schedule:
        """Every hour, at the minute of `last_hour`."""
        start = text(self.last_hour - timedelta(days=500))
        return Schedule(
            "INTERVAL", interval_minutes=60, start_date=start, misfire=misfire, overlap=overlap, **facts
        )

    async def make(self, schedule: Schedule = EVERY_MINUTE, workflow: str = "w") -> StoredSchedule:
        return await self.scheduling.create(workflow, schedule, ADA)

    async def put_back(self, schedule_id: str, due: datetime, **values: object) -> None:
        """Let it be as if nobody had looked since then."""
        changed = {"next_run_at": due, "lease_until": None, **values}
        statement = update(workflow_schedule).where(S.id == schedule_id).values(changed)
        await self.database.write(lambda connection: connection.execute(statement))

    async def fire(self) -> None:
        """Deal with all that is due."""
        while await self.occurrences.work():
            pass

    async def kept(self, schedule_id: str) -> StoredSchedule:
        return await self.scheduling.get(schedule_id, ADA)

    async def raw(self, schedule_id: str) -> Any:
        wanted = select(workflow_schedule).where(S.id == schedule_id)
        return await self.database.read(lambda connection: connection.execute(wanted).one())

    async def times(self, schedule_id: str) -> list[str]:
        """The times that executions were started for, oldest first."""
        rows = await self.rows(E.trigger_id == schedule_id)
        return sorted(row.given["_trigger"]["scheduledTime"] for row in rows)


def last_minute() -> datetime:
    """A full minute that is just over: no machine is so slow that it was missed."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
