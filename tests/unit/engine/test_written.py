"""Who publishes hears of what was written; where nobody here does, others are told."""

from muster.engine.outbox import Stream, Written


def test_who_publishes_here_is_woken_and_nobody_else() -> None:
    written, woken, rung = Written(), list[str](), list[Stream]()
    written.elsewhere = rung.append
    written.hear(Stream.EXECUTIONS, lambda: woken.append("here"), lambda: True)
    written.tell(Stream.EXECUTIONS)
    assert (woken, rung) == (["here"], [])


def test_what_is_published_elsewhere_is_told_there() -> None:
    written, woken, rung = Written(), list[str](), list[Stream]()
    written.elsewhere = rung.append
    written.hear(Stream.EXECUTIONS, lambda: woken.append("here"), lambda: False)
    written.tell(Stream.EXECUTIONS)
    written.tell(Stream.WATCH)
    assert woken == ["here"], "it may have become free"
    assert rung == [Stream.EXECUTIONS, Stream.WATCH]


def test_what_others_have_told_is_not_told_again() -> None:
    written, rung = Written(), list[Stream]()
    written.elsewhere = rung.append
    written.heard(Stream.EXECUTIONS)
    assert rung == []
