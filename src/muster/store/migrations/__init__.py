"""Bringing a database to the schema of this version, one revision at a time."""

from muster.store.migrations.runner import MigrationFailed, NewerSchema, current, migrate, pending

__all__ = ["MigrationFailed", "NewerSchema", "current", "migrate", "pending"]
