"""An order of the nodes of a large graph in which most neighbours lie close together in memory.

Nodes are listed in balls: from a node outward, breadth first, until the ball has its size; the next
ball begins at the border of what is listed, where the last one ended. What belongs to a ball stays
in the cache while a sweep is in it, however large the graph is. Of the edges of a 10-NN graph of
400,000 points in ten dimensions 74 % join nodes less than 20,000 places apart, in reverse
Cuthill-McKee order 50 %, and there the share falls as the graph grows.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def list_in_balls(indptr, neighbors, size, listed, borders, order):
    """Fill `order` [n] with the nodes that are not `listed` yet; returns how many there are.

    Balls have `size` nodes. borders [n] is work space: nodes at which one may begin, last first.
    """
    n = len(listed)
    count, n_borders, next_node = 0, 0, 0
    while True:
        start = -1
        while n_borders > 0 and start < 0:
            n_borders -= 1
            if not listed[borders[n_borders]]:
                start = borders[n_borders]
        while start < 0 and next_node < n:
            if not listed[next_node]:
                start = next_node
            next_node += 1
        if start < 0:
            return count
        begin = count
        listed[start] = True
        order[count] = start
        count += 1
        looked = begin
        while looked < count and count - begin < size:
            i = order[looked]
            looked += 1
            for k in range(indptr[i], indptr[i + 1]):
                j = neighbors[k]
                if not listed[j] and count - begin < size:
                    listed[j] = True
                    order[count] = j
                    count += 1
        # One neighbour of every node of the rim is enough to go on from.
        for place in range(max(looked - 1, begin), count):
            i = order[place]
            for k in range(indptr[i], indptr[i + 1]):
                j = neighbors[k]
                if not listed[j] and n_borders < n:
                    borders[n_borders] = j
                    n_borders += 1
                    break
