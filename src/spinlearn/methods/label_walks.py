"""What walks from the labels say of every point: fields beside the couplings.

With one label in a cluster of hundreds of points the couplings alone decide little: below the
ordering temperature a whole cluster goes to whichever class costs least at its border, and a label
far inside it hardly counts. Random walks from the labels know how far everything is. With
S = D^-1/2 W D^-1/2 and G = (I - alpha S)^-1, walks of about 1/(1 - alpha) = REACH sqrt(n) steps,

    r_ic = n sum_l G_il / sum_l sum_j G_jl          both sums over the labels l of class c

is the share of the walks of class c that come by point i, over the mean: a class with more or
better placed labels weighs no more than another. The law

    P_i(c) ~ r_ic + FAINT

leaves classes alike where hardly any walk comes by. As a field -T ln P_i(c) it multiplies the
Boltzmann weight at temperature T by the product of the P_i. Without these fields the error of the
default answer, mean of 19 sets, was 0.32 with 1 label a class and 0.29 with 3; with them 0.23 and
0.20; the walks alone have 0.26 and 0.20.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.methods.evidence import Labels
from spinlearn.methods.walks import FAINT, Walks

REACH = 2.4  # times sqrt(n): steps of a walk
TOLERANCE = 1e-5


class LabelWalks:
    """Walks on one graph.

    Parameters
    ----------
    graph : Graph
        Edges of negative weight are left aside.
    """

    def __init__(self, graph: Graph) -> None:
        alpha = 1 - 1 / (REACH * float(np.sqrt(max(graph.n_nodes, 1))))
        self._walks = Walks(graph, tol=TOLERANCE, alpha=alpha)

    def laws(self, labels: Labels, n_states: int) -> FloatArray:
        """P_i(c), (n, n_states); states without a label have the mean of the others.

        Parameters
        ----------
        labels : int array (n,)
            States, -1 where there is none.
        n_states : int
        """
        n = len(labels)
        start = (labels[:, None] == np.arange(n_states)).astype(np.float64)
        known = start.any(axis=0)
        laws = np.ones((n, n_states))
        if np.any(known):
            found = self._walks.carried(start[:, known])
            laws[:, known] = n * found / found.sum(axis=0) + FAINT
            laws[:, ~known] = laws[:, known].mean(axis=1, keepdims=True)
        return np.asarray(laws / laws.sum(axis=1, keepdims=True))

    def added(self, model: PottsModel, labels: Labels, temperature: float) -> PottsModel:
        """The model with the fields of these labels at its points without label."""
        fields = -temperature * np.log(self.laws(labels, model.n_states))
        fields[labels >= 0] = 0.0
        return model.replace(fields=model.fields + fields)
