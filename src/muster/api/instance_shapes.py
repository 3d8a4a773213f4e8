"""What callers get about instances."""

from datetime import datetime

from pydantic import Field

from muster.api.shapes import Shape
from muster.engine.instances import InstanceStatus, Standing


class InstanceRow(Shape):
    """One start of an instance. Times are by the database's clock."""

    name: str
    incarnation: str = Field(description="This start of it. `owner` of what it drives is `name/incarnation`.")
    status: InstanceStatus = Field(
        description="`live`; `leaving`: it takes no further work; `gone`: it was not heard of for 15 seconds."
    )
    host: str
    pid: int
    roles: list[str]
    version: str
    driving: int = Field(description="How many executions it had in hand at its last heartbeat.")
    started_at: datetime
    heartbeat_at: datetime


class InstancePage(Shape):
    items: list[InstanceRow]
    next_cursor: str | None


def instance_row(found: Standing) -> InstanceRow:
    who = found.who
    return InstanceRow(
        name=who.name,
        incarnation=who.incarnation,
        status=found.status,
        host=who.host,
        pid=who.pid,
        roles=list(who.roles),
        version=who.version,
        driving=found.driving,
        started_at=found.started_at,
        heartbeat_at=found.heartbeat_at,
    )
