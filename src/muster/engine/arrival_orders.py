"""Every order in which the events of a wait may come, and the end of its time at any point: what follows.

Walked with the functions that decide when real events come: it cannot say anything else than they do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Ending,
    Plan,
    Source,
    WaitState,
    at_deadline,
    deadline,
    receive,
)
from muster.model.json import JsonView


@dataclass(frozen=True, slots=True)
class Passage:
    """One way through a wait: what came, in this order, and how it ended. `over_at`: its time was over then;
    None: it was complete with the last of them."""

    arrivals: tuple[str, ...]
    ending: Ending
    over_at: datetime | None = None


def passages(plan: Plan, data: JsonView) -> Iterator[Passage]:
    """All ways there are, one after the other: there may be very many. `data` is what events carry."""
    if not plan.events:
        yield Passage((), Ending.GOES_ON)
        return
    yield from _onwards(WaitState("", "", plan), data)


def _onwards(state: WaitState, data: JsonView) -> Iterator[Passage]:
    for name in state.plan.names:
        if name in state.received:
            continue
        event = Arrived(Source.CALLBACK, "", "", data.get(name, {}), name=name, by_hand=True)
        after, verdict = receive(state, event)
        assert isinstance(verdict, Accepted), "it waits for this one, which has not come yet"
        if verdict.completes:
            yield Passage(tuple(after.received), Ending.GOES_ON)
        else:
            yield from _onwards(after, data)
    over = deadline(state.plan, state.received)
    yield Passage(tuple(state.received), at_deadline(state.plan, state.received), over)


def depend_on_order(found: list[Passage]) -> bool:
    """Whether a wait goes on with other events where the same ones come in another order."""
    return len({frozenset(each.arrivals) for each in found if each.over_at is None}) > 1
