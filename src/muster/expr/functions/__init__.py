"""The functions that expressions may call: a fixed list.

`CONTEXTUAL` ones are given the state of the evaluation and the column of their call before their arguments.
Each one's first example is what the designer shows, and a test runs all.
"""

from collections.abc import Callable, Mapping

from muster.expr.functions import collections, dates, values
from muster.model.json import Json

CONTEXTUAL: Mapping[str, Callable[..., Json]] = {
    "now": dates.now,
    "today": dates.today,
    "uuid": dates.uuid,
}

PLAIN: Mapping[str, Callable[..., Json]] = {
    "abs": values.absolute,
    "avg": collections.average,
    "count": collections.count,
    "date": dates.to_date,
    "daysBetween": dates.days_between,
    "default": values.default,
    "distinct": collections.distinct,
    "duration": dates.duration,
    "durationBetween": dates.duration_between,
    "epochMillis": dates.epoch_millis,
    "first": collections.first,
    "flatten": collections.flatten,
    "format": dates.format_date,
    "groupBy": collections.group_by,
    "hash": values.digest,
    "hoursBetween": dates.hours_between,
    "isAfter": dates.is_after,
    "isBefore": dates.is_before,
    "join": collections.join,
    "json": values.to_json,
    "last": collections.last,
    "max": collections.largest,
    "min": collections.smallest,
    "minus": dates.minus,
    "minusDays": dates.minus_days,
    "minusHours": dates.minus_hours,
    "minusMinutes": dates.minus_minutes,
    "minusMonths": dates.minus_months,
    "minusSeconds": dates.minus_seconds,
    "minusWeeks": dates.minus_weeks,
    "minusYears": dates.minus_years,
    "minutesBetween": dates.minutes_between,
    "number": values.number,
    "parseJson": values.parse_json,
    "plus": dates.plus,
    "plusDays": dates.plus_days,
    "plusHours": dates.plus_hours,
    "plusMinutes": dates.plus_minutes,
    "plusMonths": dates.plus_months,
    "plusSeconds": dates.plus_seconds,
    "plusWeeks": dates.plus_weeks,
    "plusYears": dates.plus_years,
    "round": values.rounded,
    "secondsBetween": dates.seconds_between,
    "sortBy": collections.sort_by,
    "sum": collections.total,
}

FUNCTIONS: Mapping[str, Callable[..., Json]] = {**CONTEXTUAL, **PLAIN}
