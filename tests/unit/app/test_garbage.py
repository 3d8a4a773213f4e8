"""Python looks for garbage rarely where it serves, and still finds it."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from muster.app.garbage import MADE_BETWEEN_LOOKS, look_rarely


@pytest.fixture
def pythons_own_measure() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Circle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("pythons_own_measure")
def test_what_there_was_is_left_alone_and_what_comes_is_looked_at_rarely() -> None:
    look_rarely()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] == MADE_BETWEEN_LOOKS


@pytest.mark.usefixtures("pythons_own_measure")
def test_garbage_that_refers_to_itself_is_found_all_the_same() -> None:
    look_rarely()
    lost = ref(Circle())
    kept = [Circle() for _ in range(3 * MADE_BETWEEN_LOOKS)]
    assert lost() is None
    assert kept
