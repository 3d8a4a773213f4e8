"""What databases give, as JSON."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from muster.model.json import Json
from muster.store.row_values import Unreadable, as_json, rows_as_json


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (Decimal("19.99"), 19.99),
        (Decimal("5.00"), 5.0),
        (Decimal("12345678901234567890"), 12345678901234567890),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        (Decimal("123456789012345678.25"), "123456789012345678.25"),
        (Decimal("NaN"), "NaN"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4, 5), "03:04:05"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),  # noqa: DTZ001 - as a column without a zone has it
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:00:00+00:00"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (timedelta(hours=1, milliseconds=500), "PT3600.5S"),
        (timedelta(seconds=-90), "PT-90S"),
        (b"\x00\xff", "AP8="),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [Decimal("1.5"), None]}, {"a": [1.5, None]}),
    ],
)
def test_each_value_has_one_form(value: object, json: Json) -> None:
    found = as_json(value)
    assert (found, type(found)) == (json, type(json))


def test_a_row_that_no_object_can_hold_is_refused() -> None:
    with pytest.raises(Unreadable, match="two columns are called `a`"):
        rows_as_json(["a", "b", "a"], [(1, 2, 3)])
    with pytest.raises(Unreadable, match="the column `b` holds a NUL"):
        rows_as_json(["a", "b"], [("x", "y\0")])
