"""Grains: points that agree, at one temperature.

Edges with C_ij at or above a threshold are kept; the connected parts of what is left are the
grains. Blatt, Wiseman & Domany (Neural Computation 9, 1805, 1997) use 1/2 and then also join every
point to the neighbour with which it agrees most, which gathers the fringe of a cluster.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray, IntArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph

# Exact answers meet the thresholds exactly (4 of 5 ground states ...); rounding must not decide.
TIE = 1e-9


def grains(
    equilibrium: Equilibrium, row: int, threshold: float, *, join_all: bool = False
) -> IntArray:
    """Number of the grain of every node at the row-th temperature.

    Parameters
    ----------
    equilibrium : Equilibrium
    row : int
    threshold : float
        Least agreement of an edge within a grain.
    join_all : bool
        Also join every point to the neighbour with which it agrees most; of several equally good
        ones, to that of the strongest coupling.
    """
    graph = equilibrium.model.graph
    agreement = equilibrium.edge_agreement[row]
    kept = agreement >= threshold - TIE
    if join_all:
        strength = np.abs(equilibrium.model.couplings)
        kept[_best_edges(graph, np.rint(agreement / TIE), strength)] = True
    return connected_parts(graph.n_nodes, graph.edges[kept])


def _best_edges(graph: Graph, agreement: FloatArray, strength: FloatArray) -> IntArray:
    """Of every point that has neighbours, the edge of largest agreement, then strength."""
    starts = graph.indptr[:-1][graph.degrees > 0]
    if len(starts) == 0:
        return np.empty(0, dtype=np.int32)
    lengths = graph.degrees[graph.degrees > 0]
    ids = graph.edge_ids
    value = agreement[ids]
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    value = np.where(top, strength[ids], -1.0)
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    last = np.maximum.reduceat(np.where(top, np.arange(len(ids)), -1), starts)
    return np.asarray(ids[last])


def joined(
    equilibrium: Equilibrium, row: int, parts: IntArray, small: BoolArray, least: float
) -> IntArray:
    """Grains after the small ones have joined the neighbour with which they agree most.

    Parameters
    ----------
    equilibrium : Equilibrium
    row : int
    parts : int array (n,)
        Number of the grain of every node.
    small : bool array (n,)
        Nodes of small grains. They join others, not each other: one whose best neighbour is in a
        small grain too stays alone. Neighbours that are equally good join all.
    least : float
        Agreement that a link must exceed.
    """
    graph = equilibrium.model.graph
    agreement = np.rint(equilibrium.edge_agreement[row] / TIE)
    strength = np.abs(equilibrium.model.couplings)
    agrees = agreement > np.rint((least + TIE) / TIE)
    from_to = [graph.edges, graph.edges[:, ::-1]]
    leaving = [
        np.flatnonzero(agrees & small[e[:, 0]] & (parts[e[:, 0]] != parts[e[:, 1]]))
        for e in from_to
    ]
    ends = np.concatenate([e[kept] for e, kept in zip(from_to, leaving, strict=True)])
    ids = np.concatenate(leaving)
    origin = parts[ends[:, 0]]
    best = np.full(int(parts.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, origin, agreement[ids])
    top = agreement[ids] == best[origin]
    strongest = np.full(len(best), -np.inf)
    np.maximum.at(strongest, origin[top], strength[ids[top]])
    top &= strength[ids] >= (1 - TIE) * strongest[origin]
    top &= ~small[ends[:, 1]]
    links = np.column_stack([origin[top], parts[ends[top, 1]]])
    return np.asarray(connected_parts(len(best), links)[parts])


def connected_parts(n_nodes: int, edges: IntArray) -> IntArray:
    """Number of the connected part of every node, given the edges that count."""
    from spinlearn.kernels.connected import connect

    parts = np.empty(n_nodes, dtype=np.int32)
    connect(np.ascontiguousarray(edges, dtype=np.int32), parts)
    return parts
