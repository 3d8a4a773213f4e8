"""Traffic for trying things: in order, the same for the same seed, and with mishaps."""

from collections import Counter
from itertools import islice, pairwise

from muster.watch.graph import read_graph
from muster.watch.traffic import DEMO_TRADES, traffic


def test_events_come_in_the_order_of_their_times_and_are_the_same_for_the_same_seed() -> None:
    first = list(islice(traffic(5, 4711), 500))
    assert all(before.at <= after.at for before, after in pairwise(first))
    assert first == list(islice(traffic(5, 4711), 500))
    assert first != list(islice(traffic(5, 4712), 500))


def test_trades_have_the_types_that_the_demo_watches_and_the_usual_mishaps() -> None:
    graph = read_graph(DEMO_TRADES).graph
    assert graph is not None
    told = list(traffic(50, 1, trades=1_000))
    types = Counter(str(timed.event["eventType"]) for timed in told)
    assert types.keys() == graph.by_event_type.keys()
    ids = Counter(str(timed.event["eventId"]) for timed in told)
    assert len({timed.event["correlationKey"] for timed in told}) == 1_000
    assert 0 < 1_000 - sum(name.endswith("SETTLED") for name in ids) < 60
    assert 0 < sum(times > 1 for times in ids.values()) < 200
