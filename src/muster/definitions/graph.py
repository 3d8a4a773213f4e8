"""What the edges of a workflow add up to. Everything here is linear in nodes and edges."""

from collections.abc import Iterable, Mapping, Sequence

Successors = Mapping[str, Sequence[str]]


def reachable(start: str, successors: Successors) -> set[str]:
    """All that can be reached from `start`, itself included."""
    seen, ahead = {start}, [start]
    while ahead:
        for after in successors.get(ahead.pop(), ()):
            if after not in seen:
                seen.add(after)
                ahead.append(after)
    return seen


def components(nodes: Iterable[str], successors: Successors) -> list[list[str]]:
    """The strongly connected components (Tarjan's, without recursion), each before those that lead to it."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors.get(root, ())))]
        while work:
            node, ahead = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_.append(node)
                is_open.add(node)
            after = next((each for each in ahead if each not in index or each in is_open), None)
            if after is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_close(node, open_, is_open))
            elif after in index:
                low[node] = min(low[node], index[after])
            else:
                work.append((after, iter(successors.get(after, ()))))
    return found


def _close(root: str, open_: list[str], is_open: set[str]) -> list[str]:
    component: list[str] = []
    while not component or component[-1] != root:
        component.append(open_.pop())
        is_open.discard(component[-1])
    return component[::-1]


def cycles(nodes: Iterable[str], successors: Successors) -> list[list[str]]:
    """The components that one can go round in."""
    return [
        component
        for component in components(nodes, successors)
        if len(component) > 1 or component[0] in successors.get(component[0], ())
    ]
