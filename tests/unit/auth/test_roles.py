"""The table of roles, cell by cell."""

import pytest

from muster.api.auth import AuthError, require
from muster.model.access import Caller, How, Role

MAY = {
    "viewer": {"viewer"},
    "producer": {"producer"},
    "operator": {"viewer", "operator"},
    "editor": {"viewer", "operator", "editor"},
    "admin": {"viewer", "producer", "operator", "editor", "admin"},
}


def caller(*roles: str) -> Caller:
    return Caller("somebody", frozenset(map(Role, roles)), None, How.OIDC)


@pytest.mark.parametrize("held", Role)
@pytest.mark.parametrize("needed", Role)
def test_a_role_may_what_the_table_says(held: Role, needed: Role) -> None:
    assert caller(held).may(needed) == (needed in MAY[held])


def test_roles_add_up() -> None:
    assert caller("viewer", "producer").may(Role.PRODUCER)
    assert caller("viewer", "producer").may(Role.VIEWER)
    assert not caller("viewer", "producer").may(Role.OPERATOR)


def test_without_a_role_nothing_is_allowed() -> None:
    assert not any(caller().may(role) for role in Role)


def test_a_caller_who_lacks_the_role_is_told_which_one() -> None:
    require(caller("operator"), Role.VIEWER)
    with pytest.raises(AuthError, match="needs the role editor; yours: operator") as refused:
        require(caller("operator"), Role.EDITOR)
    assert (refused.value.status, refused.value.code) == (403, "FORBIDDEN")
    assert refused.value.challenge == 'Bearer error="insufficient_scope"'
