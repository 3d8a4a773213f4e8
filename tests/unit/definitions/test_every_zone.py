"""Schedules in every zone, around every change of its clock from 2015 to 2035, against walked clocks."""

from datetime import timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest

from walked_clocks import Change, changes_of, distinct_zones
from zone_sweep import differences

PARTS = 4
# Clocks that are changed twice within five days are looked for by `make zones`.
STEP = timedelta(days=5)


@lru_cache(maxsize=1)
def zones() -> list[tuple[str, tuple[Change, ...]]]:
    return list(distinct_zones(STEP).items())


def test_zones_are_all_there_and_most_share_their_changes() -> None:
    assert 50 < len(zones()) < 150
    assert sum(len(changes) for _, changes in zones()) > 1_500


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_time_is_lost_doubled_or_moved_in_any_zone(part: int) -> None:
    for name, changes in zones()[part::PARTS]:
        assert differences(name, changes, timedelta(hours=1)) == []


@pytest.mark.parametrize("name", ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "America/Nuuk"])
def test_clocks_that_change_at_night_at_midnight_and_by_half_an_hour(name: str) -> None:
    changes = changes_of(ZoneInfo(name), STEP)
    assert differences(name, changes[-4:], timedelta(minutes=15)) == []
