"""What does not fire because we were not there to see it come."""

from datetime import UTC, datetime, timedelta

from muster.engine.bus import Place, Reach
from muster.watch.outage import Backlog, Held, Presence, beaten, held

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
GRACE = timedelta(seconds=60)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_while_somebody_is_there_nothing_is_held() -> None:
    presence = beaten(beaten(None, at(0), GRACE), at(2), GRACE)
    assert presence == Presence(at(2))
    assert held(presence, at(4), GRACE) is None
    assert held(None, at(4), GRACE) is None


def test_what_comes_due_while_nobody_is_there_is_held() -> None:
    assert held(Presence(at(0)), at(11), GRACE) == Held(at(0))


def test_after_the_return_it_is_held_for_a_while_and_until_all_is_read() -> None:
    back = beaten(Presence(at(0)), at(300), GRACE)
    assert back == Presence(at(300), at(0), at(300))
    assert held(back, at(301), GRACE) == Held(at(0))
    unread = beaten(Presence(at(400), at(0), at(300)), at(402), GRACE)
    assert held(unread, at(403), GRACE) == Held(at(0)), "what is due by now may be among what is not read yet"
    read = Presence(at(358), at(0), at(300), caught_up_at=at(310))
    assert held(read, at(359), GRACE) == Held(at(0), at(310))
    assert held(read, at(360), GRACE) is None


def test_what_is_held_is_due_after_its_beginning_until_its_end() -> None:
    span = Held(at(0), at(10))
    assert [second for second in (-1, 0, 1, 10, 11) if span.holds(at(second))] == [1, 10]
    assert Held(at(0)).holds(at(1_000_000))


def test_who_comes_back_alone_was_away_however_short_that_was() -> None:
    presence = Presence(at(0))
    assert beaten(presence, at(4), GRACE, returns=True) == Presence(at(4), at(0), at(4))
    assert beaten(presence, at(4), GRACE) == Presence(at(4))


def reach(*spans: tuple[int, int]) -> dict[Place, Reach]:
    return {Place("events.raw", number): Reach(*span) for number, span in enumerate(spans)}


def test_a_backlog_is_read_when_every_partition_is_past_where_it_ended_at_the_return() -> None:
    backlog = Backlog()
    assert not backlog.is_read(at(0), None), "nobody knows"
    assert not backlog.is_read(at(0), reach((5, 5), (0, 9)))
    assert not backlog.is_read(at(0), reach((5, 50), (8, 90))), "what comes meanwhile is no backlog"
    assert not backlog.is_read(at(0), reach((5, 50))), "one that is not seen for a moment is not read"
    assert backlog.is_read(at(0), reach((5, 500), (9, 900)))
    assert not backlog.is_read(at(60), reach((5, 500), (9, 900))), "at the next return it is another"
    assert Backlog().is_read(at(0), {}), "where nothing ever came nothing waits"


def test_an_outage_soon_after_another_is_one_with_it() -> None:
    first = Presence(at(310), at(0), at(300), caught_up_at=at(305))
    assert beaten(first, at(330), GRACE) == Presence(at(330), at(0), at(330))
    long_past = Presence(at(500), at(0), at(300), caught_up_at=at(305))
    assert beaten(long_past, at(600), GRACE) == Presence(at(600), at(500), at(600))
