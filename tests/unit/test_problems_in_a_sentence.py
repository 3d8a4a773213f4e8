"""Several problems are told as one sentence."""

from muster.model.problems import AuthorError, Problem


def test_several_problems_make_one_sentence() -> None:
    found = AuthorError(Problem("A", "", "This is wrong."), Problem("B", "", "That is missing."))
    assert str(found) == "This is wrong; That is missing."
