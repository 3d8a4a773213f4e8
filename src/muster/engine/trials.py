"""Who may be driven together of those whose owners went down again and again.

An execution that is taken over and comes no further is a suspect: perhaps it is what brings its owners down,
perhaps it only shared a process with that. So it is tried in smaller and smaller company, and at its last
takeover it is the only suspect: what merely had bad company makes progress there, and is none any more.

Nobody waits for long to be tried, though: the more there are, the larger is the company, and who has waited
long enough is tried with everybody else. Only the last trial, which tells, is always in solitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

# What brings its owner down five times in a row would bring down the sixth.
MOST_TAKEOVERS = 5
# The company at the last takeover, the one before it, and so on. Few get further quickly, whatever else may
# bring their owner down meanwhile.
COMPANY = (1, 1, 2, 16)
# After so many seconds without progress it is merely slow, and others are not to wait for it; for the last
# trial of all, which tells, they wait longer.
PATIENCE, LAST_PATIENCE = 10.0, 60.0
# What brings its owner down mostly does so at once: for so long nothing else is begun beside it.
HEAD_START = 1.0
# However many wait, they are tried in so many rounds.
ROUNDS = 8
# After so many seconds they have waited long enough.
LONGEST_WAIT = 3.0


@dataclass(frozen=True, slots=True)
class Suspects:
    """So many wait to be taken over again, who were taken over as often before as the one that has been
    waiting for longest."""

    takeovers: int
    number: int


def company(takeovers: int, most: int) -> int | None:
    """How many may be on trial together, of whom one is taken over for this many'th time: from the `most`th
    on it is alone. None: as many as there are. Who lost an owner for the first time is hardly a suspect."""
    if takeovers == 1 and most > 1:
        return None
    return COMPANY[min(max(most - takeovers, 0), len(COMPANY) - 1)]


def is_given_up(takeovers: int, starts: int, most: int) -> bool:
    """Whether one that is taken over for this many'th time is not driven any more. Of the instances that have
    started since the first time, as many follow those that it may have brought down. If half as many again
    went down without it, it is more likely unlucky than to blame, and is tried as often again at most."""
    if takeovers <= most:
        return False
    return takeovers > 2 * most or 2 * starts < 3 * takeovers


def room(
    takeovers: int, on_trial: Sequence[int], most: int, waiting: int = 1, seconds: float = 0.0
) -> int | None:
    """How many may be taken over for this many'th time beside those that are on trial, which are given by
    their takeovers; so many are waiting for it, for so long. None: as many as there are."""
    mine, is_last = company(takeovers, most), takeovers >= most
    if mine is None:
        return None
    if not is_last:
        if seconds > LONGEST_WAIT and all(each < most for each in on_trial):
            return None
        mine = max(mine, ceil(waiting / ROUNDS))
    bounds = (bound for each in on_trial if (bound := company(each, most)) is not None)
    return max(min(mine, *bounds, mine) - len(on_trial), 0)


def is_on_trial(takeovers: int, most: int, seconds: float) -> bool:
    """Whether one that has made no progress in so many seconds since this takeover keeps others waiting."""
    patience = LAST_PATIENCE if takeovers >= most else PATIENCE
    return takeovers > 0 and company(takeovers, most) is not None and seconds < patience
