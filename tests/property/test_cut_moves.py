"""alpha-expansion and swap against all labellings and all moves of small models."""

from functools import partial
from itertools import repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.engines.sampling.run import least_energy
from spinlearn.minimizers import alpha_beta_swap, alpha_expansion, isolation_bound
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import cliques, labels_at
from tests.cut_models import all_labellings, ferromagnets


def expansions(labellings, states, alpha):
    """Those labellings that an expansion of alpha reaches."""
    return labellings[np.all((labellings == states) | (labellings == alpha), axis=1)]


def swaps(labellings, states, alpha, beta):
    """Those labellings that an exchange of two states reaches."""
    either = (states == alpha) | (states == beta)
    kept = np.all(labellings[:, ~either] == states[~either], axis=1)
    return labellings[kept & np.all(np.isin(labellings[:, either], (alpha, beta)), axis=1)]


@settings(max_examples=150)
@given(st.one_of(ferromagnets((3, 5)), ferromagnets((3, 5), cost="metric")))
def test_no_expansion_improves_the_result(model):
    """So with the Potts cost it is within twice the optimum."""
    found = alpha_expansion(model)
    labellings = all_labellings(model)
    assert np.isfinite(found.energy)  # clamps are kept
    assert found.energy == model.energy(found.labels)
    for alpha in range(model.n_states):
        reachable = model.energy(expansions(labellings, found.labels, alpha))
        assert reachable.min() >= found.energy - 2 * model.energy_resolution


@settings(max_examples=150)
@given(st.one_of(ferromagnets((3, 4)), ferromagnets((3, 4), cost="semi-metric")))
def test_no_swap_improves_the_result(model):
    found = alpha_beta_swap(model)
    labellings = all_labellings(model)
    assert found.energy == model.energy(found.labels)
    for alpha in range(model.n_states):
        for beta in range(alpha):
            reachable = model.energy(swaps(labellings, found.labels, alpha, beta))
            assert reachable.min() >= found.energy - 2 * model.energy_resolution


def after(n_moves: int):
    """Says stop once so many moves were made."""
    return partial(next, repeat(False, n_moves), True)


@settings(max_examples=60)
@given(ferromagnets((3, 4), cost="metric"))
def test_energy_falls_with_every_move(model):
    for method in (alpha_expansion, alpha_beta_swap):
        last = method(model)
        energies = [method(model, stop=after(k)).energy for k in range(last.sweeps + 1)]
        assert np.all(np.diff(energies) <= 0)
        assert energies[-1] == last.energy
        assert not last.exact


def test_most_small_models_are_solved_exactly():
    """Share of optimal results over 200 models of one size: expansion 0.98, swap 0.95 or more."""
    rng = np.random.default_rng(3)
    exact = {alpha_expansion: 0, alpha_beta_swap: 0}
    for _ in range(200):
        pairs = np.array([(i, j) for i in range(8) for j in range(i + 1, 8)])
        edges = pairs[rng.random(len(pairs)) < 0.4]
        clamped = np.concatenate([[0, 1, 2], np.full(5, -1)])
        terms = {"couplings": rng.random(len(edges)), "fields": rng.random((8, 3))}
        model = PottsModel(Graph(8, edges), 3, clamped=clamped, **terms)
        least = model.energy(all_labellings(model)).min()
        for method in exact:
            exact[method] += method(model).energy <= least + 1e-9
    assert exact[alpha_expansion] >= 196
    assert exact[alpha_beta_swap] >= 190


@settings(max_examples=150)
@given(st.one_of(ferromagnets((2, 5)), ferromagnets((3, 4), cost="metric")))
def test_no_labelling_lies_below_the_isolation_bound(model):
    least = model.energy(all_labellings(model)).min()
    bound = isolation_bound(model)
    assert bound <= least + 2 * model.energy_resolution
    found = alpha_expansion(model, bound=True)
    assert found.lower_bound == bound
    if found.exact:
        assert found.energy == pytest.approx(least, abs=2 * model.energy_resolution)


def test_the_bound_proves_separate_classes_exact_and_stays_open_where_classes_meet():
    """Three cliques joined by weak bonds; a node between three labels is the known gap of 3/4."""
    graph = cliques(3, 3, 3, links=[(0, 3), (4, 6)], weights=0.1)
    model = PottsModel(graph, 3, clamped=labels_at({0: 0, 3: 1, 6: 2}, 9))
    found = alpha_expansion(model, bound=True)
    assert found.exact
    assert found.energy == pytest.approx(0.2)
    star = PottsModel(Graph(4, [(0, 1), (0, 2), (0, 3)]), 3, clamped=[-1, 0, 1, 2])
    open_case = alpha_expansion(star, bound=True)
    assert (open_case.lower_bound, open_case.energy, open_case.exact) == (1.5, 2.0, False)
    assert isolation_bound(star.replace(couplings=[1.0, 1.0, -1.0])) is None  # it does not apply


@settings(max_examples=60)
@given(ferromagnets((3, 4)))
def test_a_stopped_expansion_returns_what_so_many_moves_give_and_claims_nothing(model):
    whole = alpha_expansion(model, bound=True)
    for allowed in range(whole.sweeps + model.n_states + 2):
        found = alpha_expansion(model, bound=True, stop=after(allowed))
        as_many = alpha_expansion(model, stop=after(allowed))
        assert found.energy == as_many.energy == model.energy(found.labels)
        np.testing.assert_array_equal(found.labels, as_many.labels)
        if allowed < whole.sweeps + model.n_states:  # moves, then the cuts of the bound
            assert not found.exact
            assert found.lower_bound is None
        else:
            assert (found.lower_bound, found.exact) == (whole.lower_bound, whole.exact)


@settings(max_examples=60)
@given(ferromagnets((2, 4)))
def test_without_time_for_a_cut_there_is_no_least_energy(model):
    assert least_energy(model, stop=lambda: True) is None
    found, in_time = least_energy(model), least_energy(model, stop=lambda: False)
    np.testing.assert_array_equal(found.labels, in_time.labels)
    assert (found.energy, found.exact) == (in_time.energy, in_time.exact)
