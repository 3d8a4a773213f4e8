"""The order table of a wait: it says what a plain reading of the rules says, and misses no order."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from event_wait_reference import API, KAFKA, SETTINGS, Reference, Setting
from muster.expr import ExpressionError, Scope
from muster.nodes.resolved import BadParameter
from muster.nodes.wait_orders import MOST_SHOWN, OrderTable, order_table

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def table(config: dict[str, Any], context: dict[str, Any] | None = None, **received: Any) -> OrderTable:
    return order_table(config, received, Scope(context or {}, NOON))


def named(*names: str, **config: Any) -> dict[str, Any]:
    return {"events": [{"name": name, "source": "callback"} for name in names], **config}


def rows(found: OrderTable) -> dict[tuple[tuple[str, ...], bool], str]:
    return {(each.arrivals, each.over_at is not None): each.ending.value for each in found.passages}


def of(setting: Setting) -> dict[str, Any]:
    custom = {"requiredEvents": sorted(setting.required), "completeWhen": "#{true}"}
    return {
        "apiCall": {"url": "http://x", "required": API in setting.required},
        "kafkaEvent": {"topic": "t", "required": KAFKA in setting.required},
        "aggregationStrategy": setting.strategy,
        "onTimeout": setting.on_timeout,
        **(custom if setting.strategy == "custom" else {}),
    }


def foreseen(setting: Setting) -> dict[tuple[tuple[str, ...], bool], str]:
    """The same table, by the reference."""
    found = {}
    waiting = [(Reference(setting), ())]
    for so_far, arrivals in waiting:
        over = so_far.copy()
        over.happen("timeout")
        found[arrivals, True] = str(over.end)
        for what, name in (("api", API), ("kafka", KAFKA)):
            after = so_far.copy()
            if name in arrivals or after.happen(what) != "accepted":
                continue
            if after.end is None:
                waiting.append((after, (*arrivals, name)))  # type: ignore[arg-type]  # a longer one
            else:
                found[(*arrivals, name), False] = "goes_on"
    return found


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_order_of_two_events_comes_to_what_the_rules_say(setting: Setting) -> None:
    assert rows(table(of(setting))) == foreseen(setting)


def test_every_order_of_many_events_is_there() -> None:
    found = table(named("a", "b", "c", "d"))
    complete = {each.arrivals for each in found.passages if each.over_at is None}
    assert complete == set(permutations("abcd"))
    assert not found.depends_on_order
    assert not found.left_off


def test_a_wait_for_any_goes_on_with_whichever_is_first() -> None:
    found = table(named("a", "b", aggregationStrategy="any"))
    assert found.depends_on_order
    assert [each.arrivals for each in found.passages] == [("a",), ("b",), ()]


def test_a_quorum_is_asked_for_every_order_with_what_events_carry() -> None:
    when = "#{received.size() >= 2 and received['a'].good}"
    config = named("a", "b", "c", aggregationStrategy="custom", completeWhen=when)
    shortest = {each.arrivals for each in table(config, a={"good": True}).passages if not each.over_at}
    assert ("a", "b") in shortest
    assert ("b", "c", "a") in shortest
    assert ("b", "c") not in shortest
    assert not [each for each in table(config).passages if not each.over_at]


def test_the_time_is_over_when_that_of_a_needed_event_is() -> None:
    config = named("a", "b", timeout="10m")
    config["events"][0]["timeout"] = "#{limit}"
    found = {each.arrivals: each.over_at for each in table(config, {"limit": 60}).passages if each.over_at}
    assert found == {
        (): NOON + timedelta(minutes=1),
        ("b",): NOON + timedelta(minutes=1),
        ("a",): NOON + timedelta(minutes=10),
    }


def test_without_events_it_is_done_at_once() -> None:
    assert rows(table({})) == {((), False): "goes_on"}


def test_what_the_context_will_have_is_named() -> None:
    config = {**of(SETTINGS[0]), "outputMapping": {"apiResponse": "answer"}}
    assert table(config).names == {API: "answer", KAFKA: KAFKA}


def test_fifty_events_are_told_up_to_a_point() -> None:
    found = table(named(*(f"e{number}" for number in range(50))))
    assert found.left_off
    assert len(found.passages) == MOST_SHOWN


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(BadParameter, match="aggregationStrategy"):
        table(named("a", aggregationStrategy="most"))
    with pytest.raises(BadParameter, match="timeout"):
        table(named("a", timeout="soon"))
    with pytest.raises(ExpressionError):
        table(named("a", timeout="#{1 +}"))
