"""What is said on a terminal when it starts."""

import pytest

from muster.app.serve import welcome
from muster.app.settings import Settings

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "this machine only, and callers are admin"),
        ({"insecure": True}, "INSECURE"),
        ({"oidc": {"issuer-uri": "https://id.example.org"}}, "a token of https://id.example.org"),
    ],
)
def test_it_says_where_to_look_and_who_may_call(given: dict[str, object], sentence: str) -> None:
    text = welcome(URL, Settings.model_validate(given))
    assert f"{URL}/docs" in text
    assert "SQLite in data/muster.db" in text
    assert sentence in text


def test_it_does_not_show_the_databases_password() -> None:
    text = welcome(URL, Settings.model_validate({"database": {"url": "postgresql://me:hunter2@db/x"}}))
    assert "hunter2" not in text
    assert "postgresql://me:***@db/x" in text
