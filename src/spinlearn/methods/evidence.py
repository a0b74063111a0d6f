"""Evidence for one law against another that needs no truth: what they say of the labels.

*Left out.* Labels are dealt out to a few groups; each group in turn is left out, the laws are found
anew without it, and the labels of the group are predicted. The summed logarithm of the
probabilities given to them is a pseudo marginal likelihood (Geisser & Eddy 1979): its difference
between two laws is a logarithm of odds. The last label of a class is never left out: nothing
would be known of the class.

*Cavity.* With one label a class there is nothing to leave out. Then the law of every labelled point
is that which its neighbours give it once its own pull on them is taken off again: with h_j(s) ~
p_j(s) exp(-J_ij [s = c_i] / T),

    P_i(s) ~ exp(-field_i(s)/T) prod_j (w_ij + (1 - w_ij) h_j(s)),    w_ij = exp(-J_ij/T).

A class that has shrunk to its label alone shows there: the neighbours are of another. Where labels
can be left out the cavity counts all the same: it is of the state that the answer will be read
from, the others are of states cooled with fewer labels.

*The paper's method* is judged by left-out labels where exact averages of the minimum cut take
little time, at T* of section 6.1 with all labels.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.temperature_grid import COARSE_SIZE, temperature_grid
from spinlearn.answers.profile import profile
from spinlearn.answers.temperature import answer_temperature
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.constants import GROUPS, LEAST
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.methods.walks import Labels

MAX_OPERATIONS = 1e7  # of the junction tree for one temperature: about 0.1 s


def label_groups(labels: Labels) -> list[IntArray]:
    """Labelled points dealt out to groups that leave at least one label of every class.

    Every class with two labels or more has its first one, at the least, in another group than the
    rest; points of classes with one label are in none.
    """
    classes = np.unique(labels[labels >= 0])
    dealt = [np.flatnonzero(labels == c).astype(np.int32) for c in classes]
    dealt = [points for points in dealt if len(points) > 1]
    if not dealt:
        return []
    # One class after the other round the groups, so that no group has two of one class where it
    # can be avoided, and all are about equally large.
    order = np.concatenate(dealt)
    count = min(GROUPS, max(len(points) for points in dealt))
    groups = [order[k::count] for k in range(count)]
    return [group for group in groups if len(group)]


def cavity_laws(model: PottsModel, marginals: FloatArray, temperature: float) -> FloatArray:
    """P_i(s) of clamped points from their neighbours alone, (n, q); uniform for the others.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0 count; its class-level term, if any, is quadratic.
    marginals : float array (n, q)
        At this temperature, above 0.
    """
    held = model.clamped >= 0
    exponent = np.zeros(marginals.shape)
    penalty = model.class_penalty
    if penalty is not None:
        sizes = penalty.sizes
        others = sizes @ marginals - sizes[:, None] * marginals
        gap = others - np.asarray(penalty.targets)
        exponent -= penalty.coefficient * sizes[:, None] * gap / temperature
    unlike = np.exp(-np.maximum(model.couplings, 0.0) / temperature)
    for one, other in (model.graph.edges.T, model.graph.edges.T[::-1]):
        judged = held[one]
        i, j, w = one[judged], other[judged], unlike[judged]
        law = marginals[j].copy()
        free = np.flatnonzero(~held[j])
        law[free, model.clamped[i[free]]] *= w[free]
        law /= law.sum(axis=1, keepdims=True)
        np.add.at(exponent, i, np.log(w[:, None] + (1 - w[:, None]) * law))
    exponent[~held] = 0.0
    exponent -= exponent.max(axis=1, keepdims=True)
    laws = np.exp(exponent)
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def paper_evidence(graph: Graph, labels: Labels, n_states: int) -> float | None:
    """Log-likelihood of left-out labels by the paper's method, in nats.

    None where no label can be left out, or the graph is too wide for exact averages.
    """
    engine = JunctionTree(max_operations=MAX_OPERATIONS)
    model = MinCut()(graph, labels, n_states)
    groups = label_groups(labels)
    if not groups or engine.unsupported(model) is not None:
        return None
    found = profile(engine.run(model, temperature_grid(model, COARSE_SIZE)), small_groups="new")
    temperature = answer_temperature(found, "paper")
    likely = 0.0
    for group in groups:
        others = np.array(labels)
        others[group] = -1
        without = MinCut()(graph, others, n_states)
        if engine.unsupported(without) is not None:  # a clamped point may have cut the graph
            return None
        own = engine.run(without, [temperature]).marginals[0][group, labels[group]]
        likely += float(np.log(np.maximum(own, LEAST)).sum())
    return likely
