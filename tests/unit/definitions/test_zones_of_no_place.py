"""Names that look like zones but mean another thing on each machine, or none."""

import pytest

from muster.definitions.formats import timezone


@pytest.mark.parametrize("name", ["localtime", "posixrules", "Factory"])
def test_a_name_that_depends_on_the_machine_is_no_zone(name: str) -> None:
    flaw = timezone(name)
    assert flaw is not None
    assert flaw.code == "INVALID_TIMEZONE"


@pytest.mark.parametrize("name", ["UTC", "Asia/Kolkata", "EST5EDT"])
def test_names_of_the_iana_are(name: str) -> None:
    assert timezone(name) is None
