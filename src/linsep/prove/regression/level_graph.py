"""The graph of the levels of two factors: arcs, spanning trees, and Bellman-Ford potentials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.problem import Array


class Arcs(NamedTuple):
    """Arcs with the row of each, the direction in which it is taken (the factor of ``x``), and one arc by row."""

    tail: Array
    head: Array
    row: Array
    direction: Array
    first: Array  # by row: one of its arcs
    sign: Array  # by row: the direction of that arc

    @classmethod
    def of_rows(cls, a: Array, b: Array, code: Array, equal: Array) -> Arcs:
        """Return the arcs of rows: ``a -> b`` of length ``x·γ`` for ``>= 0``, back for ``<= 0``, both for equations."""
        n = len(a)
        up = np.flatnonzero(equal | (code == 1))
        down = np.flatnonzero(equal | (code == 0))
        tail, head = np.concatenate((a[up], b[down])), np.concatenate((b[up], a[down]))
        row = np.concatenate((up, down))
        direction = np.concatenate((np.ones(len(up), np.int64), -np.ones(len(down), np.int64)))
        first = np.empty(n, dtype=np.intp)
        first[row[::-1]] = np.arange(len(row))[::-1]
        return cls(tail, head, row, direction, first, direction[first])

    def take(self, which: Array) -> Arcs:
        """Return some of the arcs."""
        return self._replace(
            tail=self.tail[which], head=self.head[which], row=self.row[which], direction=self.direction[which]
        )

    def of(self, rows: Array) -> Arcs:
        """Return the arcs of some rows."""
        return self.take(np.flatnonzero(rows[self.row]))

    def both_ways(self) -> Arcs:
        """Return every arc with its opposite."""
        return self._replace(
            tail=np.concatenate((self.tail, self.head)),
            head=np.concatenate((self.head, self.tail)),
            row=np.concatenate((self.row, self.row)),
            direction=np.concatenate((self.direction, -self.direction)),
        )

    def graph(self, nodes: int) -> Any:
        """Return the adjacency matrix."""
        ones = np.ones(len(self.tail), dtype=np.int8)
        return sp.csr_array((ones, (self.tail, self.head)), shape=(nodes, nodes))


class Trees(NamedTuple):
    """In every component a tree from its root to all nodes, and one from all nodes to the root: arcs by node."""

    order_out: Array
    arc_out: Array  # the arc that comes into a node, -1 at a root
    order_in: Array
    arc_in: Array  # the arc that leaves a node, -1 at a root

    def walk(self, arcs: Arcs, e: int) -> Array:
        """Return a closed walk through an arc: from the root to it, and back to the root."""
        way = [e]
        node = int(arcs.tail[e])
        while (arc := int(self.arc_out[node])) >= 0:
            way.append(arc)
            node = int(arcs.tail[arc])
        way.reverse()
        node = int(arcs.head[e])
        while (arc := int(self.arc_in[node])) >= 0:
            way.append(arc)
            node = int(arcs.head[arc])
        return np.array(way, dtype=np.intp)

    def heights(self, arcs: Arcs, length: Any, clock: Clock) -> Any:
        """Return potentials that make all arcs of the outward trees tight; ``length`` is by row."""
        pi: Any = np.zeros(len(self.arc_out), dtype=length.dtype if length.dtype == object else np.int64)
        if length.dtype == object:
            for node in self.order_out.tolist():
                clock.check()
                arc = int(self.arc_out[node])
                if arc >= 0:
                    pi[node] = pi[arcs.tail[arc]] + length[arcs.row[arc]] * int(arcs.direction[arc])
            return pi
        _heights(self.order_out, self.arc_out, arcs.tail, length[arcs.row] * arcs.direction, pi)
        return pi


def spanning_trees(arcs: Arcs, nodes: int, clock: Clock) -> Trees:
    """Return trees of a graph all of whose arcs are within strongly connected components."""
    _, label = connected_components(arcs.graph(nodes), directed=True, connection="strong")
    roots = np.unique(label, return_index=True)[1]
    clock.check()
    order_out, arc_out = _tree(arcs.tail, arcs.head, roots, nodes)
    clock.check()
    order_in, arc_in = _tree(arcs.head, arcs.tail, roots, nodes)
    return Trees(order_out, arc_out, order_in, arc_in)


def _tree(tail: Array, head: Array, roots: Array, nodes: int) -> tuple[Array, Array]:
    """Return the nodes in breadth-first order from the roots, and the arc by which each is reached."""
    above = np.full(len(roots), nodes)
    ones = np.ones(len(tail) + len(roots), dtype=np.int8)
    graph = sp.csr_array(
        (ones, (np.concatenate((tail, above)), np.concatenate((head, roots)))), shape=(nodes + 1, nodes + 1)
    )
    order, before = breadth_first_order(graph, nodes, directed=True, return_predecessors=True)
    key = tail.astype(np.int64) * (nodes + 1) + head
    keys, places = np.unique(key, return_index=True)
    arc = np.full(nodes, -1, dtype=np.int64)
    inner = np.flatnonzero((before[:nodes] >= 0) & (before[:nodes] != nodes))
    arc[inner] = places[np.searchsorted(keys, before[inner].astype(np.int64) * (nodes + 1) + inner)]
    return order[1:], arc


class Potentials(NamedTuple):
    """Potentials with ``π_head <= π_tail + length`` for all arcs, or a cycle of negative length."""

    pi: Array
    cycle: Array | None  # arcs in order


def potentials(arcs: Arcs, length: Any, nodes: int, least: float, clock: Clock) -> Potentials:
    """Find potentials or a negative cycle; ``length`` is by row, for its first arc.

    ``least`` is 0 for integers; of floats, changes that are not larger are left alone.
    """
    along = (length * arcs.sign)[arcs.row] * arcs.direction
    pi, parent = np.zeros(nodes, dtype=length.dtype), np.full(nodes, -1, dtype=np.int64)
    relax, least = (
        (getattr(_relax, "py_func", _relax), 0) if length.dtype == object else (_relax, length.dtype.type(least))
    )
    for turn in range(nodes + 1):
        clock.check()
        changed = relax(arcs.tail, arcs.head, along, pi, parent, least)
        if changed == 0:
            return Potentials(pi, None)
        if turn % 4 == 3 or turn == nodes:
            at = _on_cycle(arcs.tail, parent)
            if at >= 0:
                return Potentials(pi, _cycle(arcs, parent, at))
    raise ArithmeticError("shortest paths did not end: please report these data")


def _cycle(arcs: Arcs, parent: Array, node: int) -> Array:
    way, at = [], node
    while True:
        arc = int(parent[at])
        way.append(arc)
        at = int(arcs.tail[arc])
        if at == node:
            return np.array(way[::-1], dtype=np.intp)


_compiled = compiled()


@_compiled
def _relax(tail, head, length, pi, parent, least):
    """Lower potentials that are too high for an arc; return how many were."""
    changed = 0
    for e in range(tail.size):
        low = pi[tail[e]] + length[e]
        if low + least < pi[head[e]]:
            pi[head[e]] = low
            parent[head[e]] = e
            changed += 1
    return changed


@_compiled
def _on_cycle(tail, parent):
    """Return a node on a cycle of the arcs by which nodes were last lowered, or -1."""
    mark = np.zeros(parent.size, dtype=np.int64)
    for start in range(parent.size):
        if mark[start] != 0:
            continue
        node = start
        while mark[node] == 0 and parent[node] >= 0:
            mark[node] = start + 1
            node = tail[parent[node]]
        if parent[node] >= 0 and mark[node] == start + 1:
            return node
        if mark[node] == 0:
            mark[node] = start + 1
    return -1


@_compiled
def _heights(order, arc, tail, length, pi):
    """Go through the nodes in order and make the arc that leads to each tight."""
    for k in range(order.size):
        node = order[k]
        if arc[node] >= 0:
            pi[node] = pi[tail[arc[node]]] + length[arc[node]]
