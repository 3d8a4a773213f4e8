"""Ids: the caller's where they are sane, else our own."""

import pytest

from muster.api.tracing import ids_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_callers_ids_are_kept() -> None:
    ids = ids_of("order-17", f"00-{TRACE}-00f067aa0ba902b7-01")
    assert (ids.request_id, ids.trace_id) == ("order-17", TRACE)


@pytest.mark.parametrize("request_id", [None, "", "a b", "x" * 129, "line\nbreak", "é", "<script>"])
def test_a_request_id_that_could_do_harm_is_replaced(request_id: str | None) -> None:
    assert ids_of(request_id, None).request_id != request_id


@pytest.mark.parametrize(
    "traceparent",
    [
        None,
        "",
        "nonsense",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        f"00-{TRACE}-00f067aa0ba902b7-01-more",
    ],
)
def test_a_traceparent_that_breaks_its_standard_starts_a_new_trace(traceparent: str | None) -> None:
    found = ids_of(None, traceparent).trace_id
    assert found != TRACE
    assert len(found) == 32


def test_a_later_version_of_traceparent_is_read_as_far_as_it_is_known() -> None:
    assert ids_of(None, f"01-{TRACE}-00f067aa0ba902b7-01-more").trace_id == TRACE
