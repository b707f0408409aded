"""Strongly connected components of a graph, callees before callers."""

from collections.abc import Iterable, Mapping, Sequence


def bottom_up_components(
    edges: Mapping[str, Sequence[str]], nodes: Iterable[str]
) -> tuple[tuple[str, ...], ...]:
    """Group nodes that reach each other; a group follows all groups it points to.

    Tarjan's algorithm with an explicit stack, because call chains are deep. The order
    depends only on the order of `nodes` and `edges`.
    """
    search = _Search(edges)
    for node in nodes:
        if node not in search.numbers:
            search.visit(node)
    return tuple(search.components)


class _Search:
    """State of one run: visit numbers, low links, the stack of open nodes."""

    def __init__(self, edges: Mapping[str, Sequence[str]]) -> None:
        self.edges = edges
        self.numbers: dict[str, int] = {}
        self.components: list[tuple[str, ...]] = []
        self._low: dict[str, int] = {}
        self._open: list[str] = []
        self._is_open: set[str] = set()

    def visit(self, root: str) -> None:
        self._enter(root)
        work = [(root, iter(self.edges.get(root, ())))]
        while work:
            node, successors = work[-1]
            fresh = self._advance(node, successors)
            if fresh is not None:
                self._enter(fresh)
                work.append((fresh, iter(self.edges.get(fresh, ()))))
                continue
            work.pop()
            if work:
                caller = work[-1][0]
                self._low[caller] = min(self._low[caller], self._low[node])
            if self._low[node] == self.numbers[node]:
                self._close(node)

    def _enter(self, node: str) -> None:
        self.numbers[node] = self._low[node] = len(self.numbers)
        self._open.append(node)
        self._is_open.add(node)

    def _advance(self, node: str, successors: Iterable[str]) -> str | None:
        for successor in successors:
            if successor not in self.numbers:
                return successor
            if successor in self._is_open:
                self._low[node] = min(self._low[node], self.numbers[successor])
        return None

    def _close(self, root: str) -> None:
        start = self._open.index(root) if self._open[-1] != root else -1
        members = self._open[start:]
        del self._open[start:]
        self._is_open.difference_update(members)
        self.components.append(tuple(members))
