"""Where an execution is, as its detail shows it, on every database."""

import pytest

from clocks import NOON
from engine_house import Told
from muster.api.execution_answers import whole_of
from muster.engine.following import Following
from muster.model.access import Caller, How, Role
from muster.store.database import Database
from muster.store.event_wait_lists import EventWaitLists
from muster.store.sightings import ExecutionSightings
from scheduled_house import Scheduled

ADA = Caller("ada", frozenset({Role.ADMIN}), None, How.TOKEN)
TELL = {"id": "a", "type": "TELL", "config": {"say": "hello"}}


@pytest.fixture
def told() -> Told:
    return Told()


async def test_while_a_node_runs_the_detail_says_which(database: Database, told: Told) -> None:
    told.pauses_at = "b"
    house = Scheduled(database, told)
    following = Following(ExecutionSightings(database), house.program)
    await house.save("w", TELL, {"id": "b", "type": "TELL", "config": {"say": "b"}})
    execution = await house.begin("w")
    await told.hanging.wait()
    found = await house.control.get(execution, ADA)
    assert found.row.current_node_id is None
    assert (
        await whole_of(house.control, following, EventWaitLists(database), found, NOON)
    ).current_node_id == "b"
    told.go_on.set()
    await house.instance.ended(execution)
