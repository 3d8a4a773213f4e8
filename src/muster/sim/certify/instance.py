"""One instance as it runs in a certificate: the real engine, its doors, stubs in the place of the world."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.handlers import Effect, Handlers, Opener, Waker, for_every_type
from muster.engine.instance import Instance, Name
from muster.engine.outbox import Stream, Written
from muster.engine.ports import NotWritten
from muster.engine.programs import Programs
from muster.engine.state import Failure
from muster.kit.loop import Loop
from muster.model.json import JsonObject
from muster.nodes import pure_handlers, wait_handlers
from muster.nodes.commanding import CommandNode
from muster.nodes.compensating import CompensatingCommand
from muster.nodes.publishing import Publish
from muster.nodes.rest_sync import RestSync
from muster.nodes.send_email import SendEmail
from muster.nodes.send_whatsapp import SendWhatsApp
from muster.nodes.sub_workflow import Startable, SubWorkflow
from muster.nodes.waiting_for_events import WaitForEvents
from muster.sim.certify import stubs
from muster.sim.certify.answers import Doors
from muster.sim.certify.far_side import FarSide
from muster.sim.certify.subject import Subject
from muster.sim.world import World
from muster.store.acts import ExecutionActs
from muster.store.approvals import ApprovalRepository
from muster.store.business_keys import BusinessKeys
from muster.store.child_items import ChildItems
from muster.store.command_replies import ReplyRepository
from muster.store.command_sending import CommandSenders, SentCommandRepository
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.deliveries import DeliveryRepository
from muster.store.event_wait_records import EventWaitRepository
from muster.store.executions import ExecutionRepository
from muster.store.external_task_records import ExternalTaskRepository
from muster.store.outbox_draining import StreamDraining
from muster.store.resuming import Receptions

LEASE = timedelta(seconds=30)
LOOK_EVERY = 30.0
PUBLISHED_AT_ONCE = 500
DLQ_TOPIC = "dead-letters"
MakeExecutions = type[ExecutionRepository]
Errand = Callable[["Running"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Running:
    instance: Instance
    doors: Doors


@dataclass(frozen=True)
class House:
    """What instances are built with. `make` makes the repository that they write executions by."""

    world: World
    subject: Subject
    database: Database
    far_side: FarSide
    programs: Programs
    make: MakeExecutions = ExecutionRepository

    async def live(self, name: str, errand: Errand | None, done: Callable[[], None]) -> None:
        """Be an instance until the end of its process, and carry out an errand first of all."""
        committer, written = GroupCommitter(self.database), Written()
        executions = self.make(self.database, committer, LEASE, written=written)
        receptions = Receptions(committer, name, LEASE)
        waits = EventWaitRepository(self.database, receptions)
        handlers = self._handlers(committer, waits, written)
        clock = self.world.clock
        attempts = Attempts(handlers, executions, clock, _no_chance, LEASE, stubs.StubSecrets(self.subject))
        instance = Instance(
            Name(name, self.world.ids.new()),
            executions,
            Driver(executions, attempts, clock, _no_chance),
            self.programs.of,
            clock,
            LEASE,
            alone=True,  # whoever was there before is gone: nobody has to wait for a lease
            look_every=LOOK_EVERY,
            kept_program=self.programs.kept,
        )
        receptions.hand_to(instance)
        doors = Doors(
            waits,
            BusinessKeys(self.database, name),
            ApprovalRepository(self.database),
            ExternalTaskRepository(self.database, committer),
            ReplyRepository(self.database, committer, LEASE, instance),
            ExecutionActs(committer),
            instance.look_now,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(instance.run())
            for loop in self._publishing(written):
                tasks.create_task(loop.run())
            if errand is not None:
                await errand(Running(instance, doors))
                instance.look_now()
            done()

    def _publishing(self, written: Written) -> list[Loop]:
        nobody = stubs.Nobody()
        loops = []
        for stream in Stream:
            draining = StreamDraining(
                stream,
                self.database,
                lambda topics: None,
                nobody,
                PUBLISHED_AT_ONCE,
                CommandSenders(nobody),
                LOOK_EVERY,
            )
            loop = Loop(f"outbox {stream}", draining.work, (NotWritten,))
            written.hear(stream, loop.wake, lambda: True)
            loops.append(loop)
        return loops

    def _handlers(self, committer: GroupCommitter, waits: EventWaitRepository, written: Written) -> Handlers:
        subject, far_side, schemas = self.subject, self.far_side, stubs.PlainMessages()
        http, deliveries = stubs.StubHttp(far_side, subject), DeliveryRepository(self.database, committer)
        mail = SendEmail(stubs.StubMailer(far_side), deliveries, http, stubs.StubMessages())

        def sent() -> None:
            written.tell(Stream.EXECUTIONS)

        effects: dict[str, Effect] = {
            "REST_SYNC": stubs.Reached(RestSync(http)),
            "SEND_EMAIL": stubs.Reached(mail),
            "SEND_WHATSAPP": stubs.Reached(SendWhatsApp(stubs.StubWhatsApp(far_side), deliveries)),
            "QUERY": stubs.StubQuery(far_side, subject),
            "ACTION": stubs.StubAction(far_side, subject),
            "KAFKA_PUBLISH": Publish(schemas),
            "KAFKA_COMMAND": CompensatingCommand(schemas, SentCommandRepository(self.database), sent),
            **{name: stubs.StubPlugIn(far_side, subject, name) for name in subject.plug_in.effects},
        }
        wait = WaitForEvents(http, waits, self.world.ids.new, "http://certificate")
        command = CommandNode(schemas, self.world.ids.new, DLQ_TOPIC, stubs.Nobody(), stubs.Nobody())
        openers: dict[str, Opener] = {
            "WAIT_EVENTS": stubs.ReachedByOpener(wait),
            "KAFKA_COMMAND": command,
            "SUB_WORKFLOW": SubWorkflow(_Workflows(subject, self.programs), ChildItems(self.database)),
        }
        pures = {**pure_handlers(), **subject.plug_in.pures}
        all_waits = {**wait_handlers(), **subject.plug_in.waits}
        wakers: dict[str, Waker] = {"WAIT_EVENTS": wait, "KAFKA_COMMAND": command}
        handlers = Handlers(effects, pures, all_waits, openers, wakers)
        return for_every_type(handlers, subject.node_types)


class _Workflows:
    """`nodes.sub_workflow.Workflows`: those of the subject."""

    def __init__(self, subject: Subject, programs: Programs) -> None:
        self._subject, self._programs = subject, programs

    async def find(self, institute_id: str, workflow: str, version: int | None) -> Startable | Failure:
        number = self._subject.version_of(workflow)
        if number is None:
            return Failure("UnknownWorkflow", f"There is no workflow {workflow[:200]!r}")
        return Startable(workflow, number, (await self._programs.of(number)).concurrency)


def _no_chance() -> float:
    """Retries come after the same time in every run, whoever has them."""
    return 0.5


def programs_of(subject: Subject) -> Programs:
    """Compiled once, for all runs: versions never change."""

    async def document(version_id: int) -> JsonObject:
        return subject.documents[version_id]

    return Programs(document, subject.node_types)
