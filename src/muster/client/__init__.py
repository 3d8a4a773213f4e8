"""Muster from Python: `Muster` and `AsyncMuster` call a running server, `Worker` and `AsyncWorker` do its
external tasks. Nothing of the server is needed for it."""

from muster.client.awaiting import AsyncMuster
from muster.client.blocking import Muster
from muster.client.errors import (
    Conflict,
    Forbidden,
    Invalid,
    MusterError,
    NotEnded,
    NotFound,
    RateLimited,
    Refused,
    StaleVersion,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from muster.client.retrying import NEVER, Retries
from muster.client.tasks import BusinessError, Complete, Failure, Task
from muster.client.workers import AsyncWorker, Manner, Worker

__all__ = [
    "NEVER",
    "AsyncMuster",
    "AsyncWorker",
    "BusinessError",
    "Complete",
    "Conflict",
    "Failure",
    "Forbidden",
    "Invalid",
    "Manner",
    "Muster",
    "MusterError",
    "NotEnded",
    "NotFound",
    "RateLimited",
    "Refused",
    "Retries",
    "StaleVersion",
    "Task",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "Worker",
]
