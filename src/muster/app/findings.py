"""What `muster doctor` finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do if it isn't well."""

    name: str
    ok: bool
    found: str
    advice: str = ""
