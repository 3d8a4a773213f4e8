"""What the doctor makes of several hosts."""

import pytest

from muster.app.doctor_store import judge_hosts
from muster.store.hosts import Sight

PRIMARY, STANDBY = Sight("a:1", True, True), Sight("b:1", False)


@pytest.mark.parametrize(
    ("seen", "ok", "advice"),
    [
        ([PRIMARY, STANDBY], True, ""),
        ([Sight("a:1", True, False), STANDBY], True, "With synchronous_standby_names set"),
        ([PRIMARY, Sight("b:1", trouble="refused")], False, "Start it again as a standby"),
        ([PRIMARY, Sight("b:1", True)], False, "Stop the one that was left"),
        ([STANDBY, Sight("c:1", False)], False, "Promote a standby"),
    ],
)
def test_one_host_takes_writes_and_the_others_could(seen: list[Sight], ok: bool, advice: str) -> None:
    found = judge_hosts(seen)
    assert found.ok is ok
    assert found.advice.startswith(advice) if advice else not found.advice
