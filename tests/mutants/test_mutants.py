"""The guards that everything rests on are noticed when they are gone; `make mutants` tries all of them."""

import pytest

from mutants.catalogue import EXACTLY_ONCE, FIRST, MUTANTS
from mutants.hunt import Fate, Mutant, hunt, mutated


def name_of(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("mutant", MUTANTS, ids=name_of)
def test_what_a_mutant_removes_is_still_there(mutant: Mutant) -> None:
    assert mutated(mutant) != mutant.path.read_text()


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", FIRST, ids=name_of)
def test_it_is_noticed_when_this_is_gone(mutant: Mutant) -> None:
    assert hunt(mutant).fate is Fate.NOTICED


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("mutant", EXACTLY_ONCE, ids=name_of)
def test_a_publisher_without_this_is_noticed(mutant: Mutant, kafka_bootstrap: str) -> None:
    assert hunt(mutant).fate is Fate.NOTICED
