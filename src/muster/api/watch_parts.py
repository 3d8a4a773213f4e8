"""What the edge is given of watching."""

from dataclasses import dataclass

from muster.watch.library import WatchedLibrary


@dataclass(frozen=True, slots=True)
class Watched:
    library: WatchedLibrary
