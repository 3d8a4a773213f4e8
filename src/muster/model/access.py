"""Who calls, and what they may do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    PRODUCER = "producer"
    OPERATOR = "operator"
    EDITOR = "editor"
    ADMIN = "admin"


# What each role holds beside itself. A producer sends; it does not read.
_HOLDS: Mapping[Role, frozenset[Role]] = {
    Role.VIEWER: frozenset({Role.VIEWER}),
    Role.PRODUCER: frozenset({Role.PRODUCER}),
    Role.OPERATOR: frozenset({Role.OPERATOR, Role.VIEWER}),
    Role.EDITOR: frozenset({Role.EDITOR, Role.OPERATOR, Role.VIEWER}),
    Role.ADMIN: frozenset(Role),
}


def roles_among(words: Iterable[object]) -> frozenset[Role]:
    """The roles that are named there. Whatever else is named means nothing here, and allows nothing."""
    named = [word for word in words if isinstance(word, str)]
    return frozenset(role for role in Role if role.value in named)


class How(StrEnum):
    """By what a caller was recognised. Without an OpenID provider, being on this machine is enough
    (`loopback`), or nothing is asked at all (`insecure`)."""

    TOKEN = "token"
    OIDC = "oidc"
    LOOPBACK = "loopback"
    INSECURE = "insecure"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised. `institute_id` None sees every tenant; text sees that one only."""

    name: str
    roles: frozenset[Role]
    institute_id: str | None
    how: How

    def may(self, needed: Role) -> bool:
        return any(needed in _HOLDS[role] for role in self.roles)
