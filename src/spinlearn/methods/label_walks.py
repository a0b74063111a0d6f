"""What random walks from the labels say of every point.

Walks end at the first label that they meet. With S = D^-1/2 W D^-1/2 (u: points without label,
l: labels, c: class)

    F_u = alpha S_uu F_u + alpha S_ul [c_l = c],    r_ic = F_ic / (m_c^e M^(1-e))

is the share of the walks of class c that come by point i, over the mean. m_c is the mean of F_.c
over the points u, M that of the m_c, and e = DOUBT / (DOUBT + labels of c - 1): with one label, the
mass of a class's walks says little about its size; with many labels it says more. Walks have about
1/(1 - alpha) steps. They serve twice:

- *Fields of the phase*, REACH sqrt(n) steps: P_i(c) ~ r_ic + FAINT, as a field -T ln P_i(c) at
  temperature T. With one label in a cluster of hundreds of points the couplings alone decide
  little: a whole cluster goes to whichever class costs least at its border. Walks know how far
  everything is.
- *A law of its own*, V_i(c) ~ r_ic^SHARPNESS, of walks so long that they always meet a label: the
  harmonic law (Zhu, Ghahramani & Lafferty 2003). Messages below their ordering temperature are sure
  wherever a domain reaches; this law is unsure wherever labels of several classes are equally far.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.constants import DOUBT, FAINT, REACH, SHARPNESS
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.methods.evidence import Labels
from spinlearn.methods.walks import Walks, precision

MOST_STEPS = 100.0  # of the walks behind fields, beyond MANY points: a limit of time
MANY = 15_000
LONG = 10_000.0  # steps of walks that always meet a label, where there is one to be met
TOLERANCE = 1e-5  # of fields
LAW_TOLERANCE = 1e-3


class LabelWalks:
    """Walks on one graph.

    Parameters
    ----------
    graph : Graph
        Edges of negative weight are left aside.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        steps = REACH * float(np.sqrt(max(graph.n_nodes, 1)))
        self._steps = steps if graph.n_nodes <= MANY else min(steps, MOST_STEPS)

    def fields(self, labels: Labels, n_states: int, temperature: float) -> FloatArray:
        """-T ln P_i(c), (n, n_states), zero at labels; states without one have the mean law.

        Parameters
        ----------
        labels : int array (n,)
            States, -1 where there is none.
        n_states : int
        temperature : float
        """
        laws = self._arriving(labels, n_states, self._steps, TOLERANCE)
        known = _known(labels, n_states)
        laws += laws.dtype.type(FAINT)
        laws[:, ~known] = laws[:, known].mean(axis=1, keepdims=True) if np.any(known) else 1.0
        laws /= laws.sum(axis=1, keepdims=True)
        np.log(laws, out=laws)
        laws *= -temperature
        laws[labels >= 0] = 0.0
        return laws

    def added(self, model: PottsModel, labels: Labels, temperature: float) -> PottsModel:
        """The model with the fields of these labels at its points without label."""
        return model.replace(fields=model.fields + self.fields(labels, model.n_states, temperature))

    def law(self, labels: Labels, n_states: int) -> FloatArray:
        """V_i(c), (n, n_states); equal for all classes with a label where no walk arrives."""
        laws = self._arriving(labels, n_states, LONG, LAW_TOLERANCE)
        known = _known(labels, n_states)
        laws **= laws.dtype.type(SHARPNESS)
        total = laws.sum(axis=1)
        laws[total <= 0] = known / max(int(known.sum()), 1)
        laws /= np.where(total > 0, total, 1.0)[:, None]
        given = np.flatnonzero(labels >= 0)
        laws[given] = 0.0
        laws[given, labels[given]] = 1.0
        return laws

    def _arriving(
        self, labels: Labels, n_states: int, steps: float, tolerance: float
    ) -> FloatArray:
        """r_ic, (n, n_states); zero for states without a label."""
        dtype = precision(len(labels))[1]
        start = (labels[:, None] == np.arange(n_states)).astype(dtype)
        known = start.any(axis=0)
        arriving = np.zeros((len(labels), n_states), dtype=dtype)
        if np.any(known):
            free = labels < 0
            walks = Walks(self._graph, free, tolerance, 1 - 1 / steps, dtype)
            found = walks.carried(walks.first_steps(start[:, known]))
            labelled = start[:, known].sum(axis=0, dtype=np.float64)
            del walks, start
            sent = np.ones(found.shape[1])
            if np.any(free):
                sent = found.mean(axis=0, where=free[:, None], dtype=np.float64)
            sent = np.where(sent > 0, sent, 1.0)
            doubt = DOUBT / (DOUBT + labelled - 1)
            found /= sent**doubt * sent.mean() ** (1 - doubt)
            arriving[:, known] = found
        return arriving


def _known(labels: Labels, n_states: int) -> BoolArray:
    """Whether each state has a label."""
    return np.asarray(np.isin(np.arange(n_states), labels))
