"""Whether the database is set so that what it has committed survives a power cut."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, text

# What is asked, and the answers with which a commit is on the disk when it is answered.
QUESTIONS: Mapping[str, Mapping[str, tuple[str, Sequence[str]]]] = {
    "postgresql": {
        "fsync": ("SHOW fsync", ("on",)),
        "full_page_writes": ("SHOW full_page_writes", ("on",)),
        "synchronous_commit": ("SHOW synchronous_commit", ("on", "local", "remote_write", "remote_apply")),
    },
    "mariadb": {
        "innodb_flush_log_at_trx_commit": ("SELECT @@global.innodb_flush_log_at_trx_commit", ("1", "3")),
    },
    "sqlite": {
        "synchronous": ("PRAGMA synchronous", ("2", "3")),
    },
}


def unsafe_settings(connection: Connection) -> Mapping[str, str]:
    """The settings with which a power cut may undo what was committed, and their values."""
    asked = QUESTIONS[connection.dialect.name]
    found = {name: str(connection.execute(text(ask)).scalar_one()) for name, (ask, _) in asked.items()}
    return {name: value for name, value in found.items() if value.lower() not in asked[name][1]}
