"""What left-out labels say of the paper's method, where that can be had exactly in little time.

The temperature is T* of section 6.1 with all labels; each group of labels is then left out in turn,
as in `spinlearn.methods.evidence`, with exact averages of the minimum cut.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.temperature_grid import COARSE_SIZE, temperature_grid
from spinlearn.answers.profile import profile
from spinlearn.answers.temperature import answer_temperature
from spinlearn.core.constants import LEAST
from spinlearn.core.graph import Graph
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.methods.evidence import Labels, label_groups

MAX_OPERATIONS = 1e7  # for one temperature: about 0.1 s


def paper_evidence(graph: Graph, labels: Labels, n_states: int) -> float | None:
    """Log-likelihood of left-out labels by the paper's method, in nats.

    None where there is none to leave out, or the graph is too wide for exact averages.

    Parameters
    ----------
    graph : Graph
        Similarities.
    labels : int array (n,)
    n_states : int
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
