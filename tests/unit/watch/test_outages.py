"""What does not fire because we were not there to see it come."""

from datetime import UTC, datetime, timedelta

from muster.watch.outage import Held, Presence, beaten, held

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
    assert held(back, at(301), GRACE) == Held(at(0), at(300))
    unread = beaten(Presence(at(400), at(0), at(300)), at(402), GRACE)
    assert held(unread, at(403), GRACE) == Held(at(0), at(300))
    read = Presence(at(358), at(0), at(300), caught_up_at=at(310))
    assert held(read, at(359), GRACE) == Held(at(0), at(300))
    assert held(read, at(360), GRACE) is None


def test_an_outage_soon_after_another_is_one_with_it() -> None:
    first = Presence(at(310), at(0), at(300), caught_up_at=at(305))
    assert beaten(first, at(330), GRACE) == Presence(at(330), at(0), at(330))
    long_past = Presence(at(500), at(0), at(300), caught_up_at=at(305))
    assert beaten(long_past, at(600), GRACE) == Presence(at(600), at(500), at(600))
