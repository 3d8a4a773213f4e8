"""Where nodes stand: in columns from left to right, so that adding one moves nothing before it.

A node's column is the longest way to it, loops left out. Its row is the first that is free in its column,
from its predecessor's row downwards. Nothing is centred afterwards: that would move what already stands.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Column and row of each node, and which edges (by source and target) lead back."""

    places: Mapping[str, Place]
    back: frozenset[tuple[str, str]]


def lay_out(nodes: Sequence[str], edges: Sequence[tuple[str, str]], start: str | None) -> Layout:
    successors: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        successors[source].append(target)
    order, back = _walk(nodes, successors, start)
    predecessors: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        if (source, target) not in back:
            predecessors[target].append(source)
    columns: dict[str, int] = {}
    for node in order:
        columns[node] = max((columns[before] + 1 for before in predecessors[node]), default=0)
    return Layout(_rows(nodes, columns, predecessors), back)


def _walk(
    nodes: Sequence[str], successors: Mapping[str, Sequence[str]], start: str | None
) -> tuple[list[str], frozenset[tuple[str, str]]]:
    """A topological order, and the edges that had to be left out for there to be one: those that lead back
    onto the path that is being walked, from the start node and then from whatever was not reached."""
    on_path: set[str] = set()
    done: list[str] = []
    seen: set[str] = set()
    back: set[tuple[str, str]] = set()
    for root in [*([start] if start is not None else []), *nodes]:
        if root in seen:
            continue
        seen.add(root)
        on_path.add(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, ahead = work[-1]
            after = next(ahead, None)
            if after is None:
                work.pop()
                on_path.discard(node)
                done.append(node)
            elif after in on_path:
                back.add((node, after))
            elif after not in seen:
                seen.add(after)
                on_path.add(after)
                work.append((after, iter(successors[after])))
    return done[::-1], frozenset(back)


def _rows(
    nodes: Sequence[str], columns: Mapping[str, int], predecessors: Mapping[str, Sequence[str]]
) -> dict[str, Place]:
    """Rows, in the document's order: what comes later finds its place among what stands.

    An edge over several columns keeps its row free in those between, so that it runs past nodes and not
    through them.
    """
    taken: defaultdict[int, set[int]] = defaultdict(set)
    places: dict[str, Place] = {}
    for node in nodes:
        column = columns[node]
        before = [places[each] for each in predecessors[node] if each in places]
        row = min((each[1] for each in before), default=0)
        crossed = range(min((each[0] + 1 for each in before), default=column), column + 1)
        while any(row in taken[each] for each in crossed):
            row += 1
        for each in crossed:
            taken[each].add(row)
        places[node] = (column, row)
    return places
