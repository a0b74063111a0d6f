"""What cuts tell of T = 0: the labelling of least energy, or nearly so, with the law around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spinlearn.minimizers.annealing import descend_walkers
from spinlearn.minimizers.cuts import alpha_expansion, minimum_cut
from spinlearn.minimizers.minimum import Minimum, cut_reason, expansion_reason
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.kernel_arguments import kernel_model
from spinlearn.model.potts import FREE, PottsModel


def least_energy(model: PottsModel, stop: Callable[[], bool] | None = None) -> Minimum | None:
    """A labelling of least energy, for more than two states by alpha-expansion; None if no cut can.

    It is `exact` if that is proven. Once `stop`, asked before every cut, says true, the best
    labelling so far is returned, and None before the first cut.
    """
    if stop is not None and stop():
        return None
    if cut_reason(model) is None:
        return minimum_cut(model)
    if expansion_reason(model) is not None:
        return None
    return alpha_expansion(model, bound=True, stop=stop)


def deepest(
    model: PottsModel, minimum: Minimum, walkers: StateArray, seed: np.random.SeedSequence
) -> tuple[Minimum, StateArray]:
    """The least energy that is known once walkers have been looked at, and all labellings of it.

    The walkers (S, n) are taken down to where no single node can improve them.
    """
    from spinlearn.kernels.rng import make_stream

    if minimum.exact:
        return minimum, minimum.labels[None]
    states = walkers.copy()
    descend_walkers(states, model, kernel_model(model), make_stream(seed))
    energies = np.asarray(model.energy(states))
    lowest = int(np.argmin(energies))
    if energies[lowest] < minimum.energy - model.energy_resolution:
        minimum = replace(minimum, labels=states[lowest], energy=float(energies[lowest]))
    equal = energies <= minimum.energy + model.energy_resolution
    return minimum, np.concatenate([minimum.labels[None], states[equal]])


def ground_law(model: PottsModel, states: StateArray) -> tuple[FloatArray, FloatArray] | None:
    """Marginals (n, q) and edge agreements (m,) at T = 0 if `states` are the ground state.

    Points that agree in it along couplings above `energy_resolution` keep together. Such a group is
    uniform over the states that cost it no more than its own while all others stay; a group that
    nothing holds is so over all. Other ground states, in which several groups differ at once at no
    cost, are not seen: they are rare where couplings are real numbers. None for pair costs other
    than Potts', and for class-level terms that are not quadratic.
    """
    n, q = model.n_nodes, model.n_states
    penalty = model.class_penalty
    if not model.is_potts or (penalty is not None and penalty.kind != "quadratic"):
        return None
    strong = model.couplings > model.energy_resolution
    u, v = model.graph.edges.T.astype(np.intp)
    inside = strong & (states[u] == states[v])
    links = coo_array((np.ones(inside.sum()), (u[inside], v[inside])), shape=(n, n))
    n_groups, group = connected_components(links, directed=False)
    cost = np.zeros((n_groups, q))  # less that of the links inside, which is the same for all
    np.add.at(cost, group, model.fields)
    across = strong & (group[u] != group[v])
    for near, far in ((u[across], v[across]), (v[across], u[across])):
        np.add.at(cost, group[near], model.couplings[across][:, None])
        np.subtract.at(cost, (group[near], states[far]), model.couplings[across])
    if penalty is not None:
        own = np.zeros(n_groups, dtype=np.intp)
        own[group] = states
        size = np.bincount(group, weights=penalty.sizes, minlength=n_groups)
        volumes = np.bincount(states, weights=penalty.sizes, minlength=q)
        others = np.tile(volumes - penalty.targets, (n_groups, 1))
        others[np.arange(n_groups), own] -= size
        # f(V + z) - f(V) of the class that takes the group in
        cost += penalty.coefficient * size[:, None] * (others + 0.5 * size[:, None])
    held = model.clamped != FREE
    free_to = np.ones((n_groups, q), dtype=np.bool_)
    free_to[group[held]] = False
    free_to[group[held], model.clamped[held]] = True
    least = np.where(free_to, cost, np.inf).min(axis=1, keepdims=True)
    free_to &= cost <= least + model.energy_resolution
    marginals = (free_to / free_to.sum(axis=1, keepdims=True))[group]
    agreement = np.einsum("es,es->e", marginals[u], marginals[v])
    agreement[group[u] == group[v]] = 1.0
    return marginals, agreement
