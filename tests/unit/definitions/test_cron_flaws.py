"""What is wrong with a cron expression is said of what was written."""

import pytest

from muster.definitions.cron import cron_flaw


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("-1 * * * *", "`-1` is not a minute: 0 to 59."),
        ("5- * * * *", "`5-` is not a minute: 0 to 59."),
        ("0 24 * * *", "`24` is not an hour: 0 to 23."),
        ("* * * *", "A cron expression has five fields, or six with seconds first; this has 4."),
        ("1," * 250 + "1 * * * *", "A cron expression has 500 characters at most; this has 509."),
        ("1,,2 * * * *", "An empty part is not a minute: 0 to 59."),
    ],
)
def test_a_flaw_shows_what_was_written(expression: str, told: str) -> None:
    assert cron_flaw(expression) == told


def test_the_longest_expression_is_understood() -> None:
    longest = "0," * 245 + "00 9 * * *"
    assert (len(longest), cron_flaw(longest)) == (500, None)
