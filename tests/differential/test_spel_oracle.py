"""The comparison with Spring is never left out silently."""

import shutil

import pytest

from differential.spel_oracle import INSTALL, ask_spring


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.usefixtures("no_java")
def test_without_java_the_comparison_is_skipped_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="NOT COMPARED WITH SPRING") as skipped:
        ask_spring([("1", {})])
    assert INSTALL in str(skipped.value)


@pytest.mark.usefixtures("no_java")
def test_without_java_the_comparison_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="Java and Maven are needed"):
        ask_spring([("1", {})])
