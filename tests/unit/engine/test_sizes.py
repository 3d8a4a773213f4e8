"""How large a value may be, and what stands for one that is kept aside."""

import pytest

from muster.engine.handlers import Done
from muster.engine.sizes import LARGEST, ValueTooLarge, bounded, check_context, size_if_too_large
from muster.engine.state import Failure
from muster.model.aside import Aside, asides_in, filled


def test_what_is_small_and_what_just_fits_is_let_through() -> None:
    done = Done({"n": 1}, {"n": 1})
    assert bounded(done, "a") is done
    assert size_if_too_large("x" * (LARGEST - 2)) is None


def test_what_is_too_large_is_a_failure_that_names_its_node_and_size() -> None:
    failure = bounded(Done("x" * (LARGEST - 1)), "fetch")
    assert isinstance(failure, Failure)
    assert (failure.type, failure.retryable) == ("ValueTooLarge", False)
    assert "fetch" in failure.message
    assert f"{LARGEST + 1:,}" in failure.message


def test_many_short_numbers_are_counted_too() -> None:
    assert size_if_too_large([1_000_000_000] * 1_600_000) == 1_600_000 * 11 + 1


def test_changes_count_as_well_as_the_output() -> None:
    assert isinstance(bounded(Done(None, {"x": "y" * LARGEST}), "a"), Failure)


def test_a_context_names_the_variable_that_is_too_large() -> None:
    with pytest.raises(ValueTooLarge) as refused:
        check_context({"small": 1, "big": "x" * LARGEST})
    assert "/context/big" in str(vars(refused.value))


def test_values_come_back_into_their_places() -> None:
    one, two = Aside("d1", 5), Aside("d2", 6)
    forged = {"$large": {"sha256": "d1", "size": 5}}
    context = {"a": one, "b": {"c": two, "n": 1}, "f": forged, "l": [1]}
    assert {aside.sha256 for aside in asides_in(context)} == {"d1", "d2"}
    half = filled(context, {"d2": "two"})
    assert half == {"a": one, "b": {"c": "two", "n": 1}, "f": forged, "l": [1]}
    assert filled(half, {"d1": "one"})["a"] == "one"
    assert filled(half, {"d1": "one"})["f"] == forged
