"""Definitions: five shapes into one model, checked before anything runs, drawn for people."""

from muster.definitions.check import Checked, check
from muster.definitions.document import checksum, from_document, to_document
from muster.definitions.durations import parse_duration
from muster.definitions.jsontext import read_json
from muster.definitions.limits import DEFAULT_LIMITS, Limits
from muster.definitions.merge import merge
from muster.definitions.schedules import check_schedule
from muster.definitions.triggers import check_idempotency, check_trigger

__all__ = [
    "DEFAULT_LIMITS",
    "Checked",
    "Limits",
    "check",
    "check_idempotency",
    "check_schedule",
    "check_trigger",
    "checksum",
    "from_document",
    "merge",
    "parse_duration",
    "read_json",
    "to_document",
]
