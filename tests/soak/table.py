"""The one table of a soak. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soak.samples import Sample, Tally

HEAD = ("work", "sent", "done", "/s", "p50", "p99", "p50", "p99")
WIDTHS = (38, 8, 8, 8, 9, 9, 9, 9)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when it was sent, in seconds since 1970."""

    begin: float
    end: float

    def first_third(self, samples: Sequence[Sample]) -> list[float]:
        return sorted(each.value for each in samples if each.at < self.begin + self._third)

    def last_third(self, samples: Sequence[Sample]) -> list[float]:
        return sorted(each.value for each in samples if each.at >= self.end - self._third)

    @property
    def _third(self) -> float:
        return (self.end - self.begin) / 3


def table(
    stretch: Stretch,
    works: Sequence[Tally],
    memory: Mapping[str, Sequence[Sample]],
    faults: Mapping[str, tuple[int, int]],
) -> str:
    """Seconds to the end of each work and MiB, in the first third of the time and in the last; of each fault,
    how often it was, and for how many seconds in all."""
    rows = [_row("", "", "", "", "first", "third", "last", "third"), _row(*HEAD), _rule()]
    rows += [_row(*_work(stretch, each)) for each in works]
    rows += [_rule(), _row("memory, MiB", "", "", "", "p50", "most", "p50", "most")]
    rows += [_row(name, "", "", "", *_thirds(stretch, each, 1.0, "0f")) for name, each in memory.items()]
    rows += [_rule(), _row("faults", "given", "seconds", *[""] * 5)]
    rows += [_row(name, str(times), str(seconds), *[""] * 5) for name, (times, seconds) in faults.items()]
    return "\n".join(rows)


def part(values: Sequence[float], wanted: float) -> float | None:
    """The value that this part of them is below; they are sorted."""
    return values[min(int(len(values) * wanted), len(values) - 1)] if values else None


def _work(stretch: Stretch, tally: Tally) -> list[str]:
    rate = tally.done / max(stretch.end - stretch.begin, 0.001)
    counts = [f"{tally.sent:,}", f"{tally.done:,}", f"{rate:.1f}"]
    return [tally.name, *counts, *_thirds(stretch, tally.samples, 0.99, "3f")]


def _thirds(stretch: Stretch, samples: Sequence[Sample], high: float, shape: str) -> list[str]:
    both = (stretch.first_third(samples), stretch.last_third(samples))
    found = [part(values, wanted) for values in both for wanted in (0.5, high)]
    return ["-" if value is None else f"{value:.{shape}}" for value in found]


def _row(*cells: str) -> str:
    first, *others = zip(cells, WIDTHS, strict=True)
    return first[0].ljust(first[1]) + "".join(cell.rjust(width) for cell, width in others)


def _rule() -> str:
    return "-" * sum(WIDTHS)
