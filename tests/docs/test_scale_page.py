"""What the page about scale computes follows from what it measured."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
SECONDS, PEAK, FREE = 86_400, 5, 0.5


def rows(columns: int) -> list[list[str]]:
    """Of the tables with so many columns."""
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"
    ]
    return [row for row in found if len(row) == columns and re.fullmatch(r"[0-9.,]+", row[-1])]


COSTS = {row[0]: [float(cell) for cell in row[1:]] for row in rows(5)}


@pytest.mark.parametrize("row", rows(7), ids=lambda row: f"{row[0]} {row[1]}")
def test_many_cost_as_many_times_as_much_as_one(row: list[str]) -> None:
    a_day, (muster, postgres, log, kept) = int(row[0].replace(",", "")), COSTS[row[1]]
    peak = a_day / SECONDS * PEAK
    wanted = [
        peak,
        peak * muster / 1000 / FREE,
        peak * postgres / 1000 / FREE,
        peak * log / 1024,
        a_day * kept / 1024**2,
    ]
    shown = [float(cell.replace(",", "")) for cell in row[2:]]
    assert shown == pytest.approx(wanted, abs=0.06)


def test_every_kind_is_counted_for_each_of_three_sizes() -> None:
    assert len(COSTS) == 5
    assert [row[1] for row in rows(7)] == 3 * list(COSTS)
