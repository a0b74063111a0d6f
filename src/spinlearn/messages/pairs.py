"""Laws of pairs of neighbours from messages, clamped nodes included."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.propagation import Propagation
from spinlearn.messages.symmetry import Symmetry


def pair_laws(propagation: Propagation, edge_ids: npt.NDArray[np.intp]) -> FloatArray:
    """p(s_u, s_v) of edges of the model, (ids, q, q), from the present messages.

    Where the messages have broken a symmetry of states, laws are averaged over it.
    """
    layout, messages = propagation.layout, propagation.messages
    free, model = layout.free, layout.model
    symmetry = Symmetry.of(layout)
    marginals, _ = symmetry.averaged(messages.read().marginals)
    single = free.full_marginals(marginals[None])[0]
    u, v = model.graph.edges[edge_ids].T
    # An end that is clamped is independent of the other.
    laws: FloatArray = single[u][:, :, None] * single[v][:, None, :]
    local = {int(e): k for k, e in enumerate(free.edge_ids)}
    for k, edge in enumerate(edge_ids.tolist()):
        if edge in local:
            node = int(free.edges[local[edge], 0])
            laws[k] = symmetry.averaged_pair(messages.pair_law(local[edge]), node)
    return laws
