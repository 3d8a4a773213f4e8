"""The stages of watching, each of which another program may stand in for."""

from enum import StrEnum


class Stage(StrEnum):
    INGEST = "ingest"
    RULE = "rule"
    AGGREGATE = "aggregate"
    ALERT = "alert"
