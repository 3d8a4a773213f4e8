"""The page on conformance says what each check holds, and what follows if it does not."""

from pathlib import Path

from muster.conformance.bus_checks import BUS_CHECKS
from muster.conformance.cache_checks import CACHE_CHECKS
from muster.conformance.embedded_checks import EMBEDDED_CHECKS
from muster.conformance.kafka_checks import KAFKA_CHECKS
from muster.conformance.suite import ON_STORES, names

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()


def test_every_check_is_on_the_page_word_for_word() -> None:
    checks = [*ON_STORES, *BUS_CHECKS, *EMBEDDED_CHECKS, *KAFKA_CHECKS, *CACHE_CHECKS]
    lines = [f"| `{check.name}` | {check.promise} | {check.otherwise} |" for check in checks]
    assert [line for line in lines if line not in PAGE] == []


def test_no_two_checks_of_a_part_have_one_name() -> None:
    # The bus's are of two kinds, of which each run has one.
    assert len(set(names())) == len(names())
