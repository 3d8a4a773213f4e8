"""PostgreSQL behind a pooler that shares its connections between transactions, such as PgBouncer.

What is prepared in one transaction is not there in the next, and what one session sets another finds, or
does not. So nothing is prepared for later, and how statements are planned is set where the server keeps it
for the user: `docs/operating.md` says how.
"""

# What a pooler sees to by itself.
SETTINGS = {"application_name": "muster", "timezone": "UTC"}
NOTHING_KEPT = 0


def pooled_options() -> dict[str, object]:
    """What the driver is told."""
    return {
        "server_settings": SETTINGS,
        "statement_cache_size": NOTHING_KEPT,
        "prepared_statement_cache_size": NOTHING_KEPT,
        "prepared_statement_name_func": _no_name,
    }


def _no_name() -> str:
    """What has no name gives way to the next, and none is left behind on a connection that others use. It is
    there until it is run: the driver ends no message in between, so the pooler gives it nobody else's."""
    return ""
