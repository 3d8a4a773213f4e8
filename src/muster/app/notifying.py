"""Alerts become incidents, and incidents start the workflows that listen to alerts."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from muster.app.ground import Ground
from muster.engine.lookout import SELDOM, Sight
from muster.engine.ports import NotWritten
from muster.engine.triggering import Event, Startable, Triggering
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.model.json import JsonObject
from muster.model.problems import AuthorError
from muster.store.alerts import AlertRepository
from muster.store.database import CommitUnknown, Unavailable
from muster.store.incidents import IncidentRepository
from muster.watch.notifying import Incident, Notifying

# How long an incident gathers alerts before anybody is told of it.
WAIT = timedelta(seconds=3)
TROUBLE = (Unavailable, CommitUnknown, NotWritten)
# What alerts are called where a trigger asks for the name of its event.
EVENT = "alert"

log = logging.getLogger(__name__)

Listeners = Callable[[str], Awaitable[Sequence[Startable]]]


@asynccontextmanager
async def notifying(
    ground: Ground, triggering: Triggering, listeners: Listeners, wait: timedelta = WAIT
) -> AsyncIterator[None]:
    """Look at alerts, when there are any, until the end of the block."""
    tell = partial(start_workflows, triggering, listeners, ground.clock)
    database = ground.database
    notifying = Notifying(IncidentRepository(database), AlertRepository(database), tell, wait, SELDOM)
    loop = Loop("alerts", notifying.look, TROUBLE)
    ground.lookout.watch(Sight.ALERTS, loop.wake)
    running = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        await ended(running)


async def start_workflows(
    triggering: Triggering, listeners: Listeners, clock: Clock, incident: Incident
) -> None:
    """Offer an incident to the tenant's triggers of type `alert`. Each starts one execution of it, however
    often it is offered: whatever fails on the way is raised, and the incident comes again."""
    event = event_of(incident, clock)
    for trigger in await listeners(incident.institute_id):
        try:
            await triggering.fire(trigger, event)
        except AuthorError as error:
            log.warning("incident %s starts nothing by trigger %s: %s", incident.id, trigger.id, error)


def event_of(incident: Incident, clock: Clock) -> Event:
    name = f"incident-{incident.id}"
    told = context_of(incident)
    return Event(context=told, payload={"body": told}, at=clock.now(), name=EVENT, id=name, delivery=name)


def context_of(incident: Incident) -> JsonObject:
    """What a workflow that an alert starts is given."""
    return {
        "incidentId": incident.id,
        # Not `workflow`: in expressions that is the workflow that runs.
        "workflowKey": incident.workflow_key,
        "workflowVersionId": incident.workflow_version_id,
        "node": incident.node,
        "groupHash": incident.group_hash,
        "group": incident.group,
        "severity": incident.severity.value,
        "reason": incident.reason,
        "count": incident.count,
        "firstTriggeredAt": incident.first_triggered_at.isoformat(),
        "lastTriggeredAt": incident.last_triggered_at.isoformat(),
    }
