"""PottsModel: its energy is the formula, its arrays are checked, private and read-only."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinlearn.energies import MinCut
from spinlearn.engines import Auto, Enumeration, JunctionTree
from spinlearn.engines.exact import elimination as elimination_solver
from spinlearn.errors import InvalidInputError
from spinlearn.model import potts as model_module
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import small_models

PATH = Graph(3, [(0, 1), (1, 2)], [2.0, 3.0])


def energy_by_hand(model, states):
    """E(s) of the module's docstring, by a loop over nodes and edges."""
    if any(c not in (-1, s) for c, s in zip(model.clamped.tolist(), states, strict=True)):
        return float("inf")
    total = sum(float(model.fields[i, s]) for i, s in enumerate(states))
    for (u, v), coupling in zip(model.graph.edges.tolist(), model.couplings, strict=True):
        total += float(coupling * model.pair_cost[states[u], states[v]])
    return total


@given(small_models(), st.integers(0, 2**32 - 1))
def test_energy_is_the_formula(model, seed):
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, model.n_states, (5, model.n_nodes))
    held = model.clamped >= 0
    samples[:3, held] = model.clamped[held]
    expected = [energy_by_hand(model, s) for s in samples.tolist()]
    np.testing.assert_allclose(model.energy(samples), expected, rtol=1e-12, atol=1e-12)
    assert np.isfinite(expected[0])
    assert np.all(np.abs(expected[:3]) <= model.energy_scale * (1 + 1e-12))
    one = model.energy(samples[0].tolist())
    assert isinstance(one, float)
    np.testing.assert_allclose(one, expected[0], rtol=1e-12, atol=1e-12)


def test_couplings_and_pair_cost_replace_the_defaults():
    states = [0, 1, 2]
    assert PottsModel(PATH, 3).energy(states) == 5.0
    assert PottsModel(PATH, 3, couplings=[10.0, -1.0]).energy(states) == 9.0
    distance = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert PottsModel(PATH, 3, pair_cost=distance).energy([0, 2, 1]) == 2 * 2.0 + 1 * 3.0


def test_min_cut_with_a_strength_per_point_is_equation_2():
    # J = (2, 3); label 0 at node 0 with h = 1.5; node 1 unlabelled; node 2 held in state 1.
    model = MinCut()(PATH, [0, -1, 1], 2, label_strength=[1.5, np.nan, np.inf])
    expected = {(0, 0, 1): 3.0, (0, 1, 1): 2.0, (1, 0, 1): 6.5, (1, 1, 1): 1.5, (0, 0, 0): np.inf}
    for states, energy in expected.items():
        assert model.energy(states) == energy
    assert model.clamped.tolist() == [-1, -1, 1]
    # At T = 0 the only ground state gives the label up; its energy is the 1.5 above.
    run = JunctionTree().run(model, [0.0])
    np.testing.assert_allclose(run.marginals[0, :, 1], 1.0, atol=1e-12)
    np.testing.assert_allclose(run.mean_energy, 1.5)


def test_min_cut_strength_in_the_limits_is_no_label_and_a_clamp():
    ignored = MinCut()(PATH, [0, -1, 1], 2, label_strength=0.0)
    assert ignored.energy([1, 1, 0]) == MinCut()(PATH, [-1, -1, -1], 2).energy([1, 1, 0]) == 3.0
    held, strong = (MinCut(label_strength=h)(PATH, [0, -1, 1], 2) for h in (np.inf, 1e4))
    one, other = (Enumeration().run(m, [0.0, 0.7, 5.0]).marginals for m in (held, strong))
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"couplings": [1.0]}, r"couplings has shape \(1,\), expected \(2,\)"),
        ({"couplings": [1.0, np.nan]}, "couplings holds 1 NaN or infinite"),
        ({"couplings": np.array([1, np.finfo(np.longdouble).max])}, "1 NaN or infinite"),
        ({"couplings": np.array([1j, 2])}, "couplings must be real numbers.*complex"),
        ({"couplings": [1.0, None]}, "couplings must be real numbers: got None"),
        ({"pair_cost": np.zeros((2, 2))}, r"pair_cost has shape \(2, 2\), expected \(3, 3\)"),
        ({"pair_cost": np.triu(np.ones((3, 3)))}, r"not symmetric.*\(cost \+ cost.T\) / 2"),
        ({"fields": np.zeros((3, 2))}, r"fields has shape \(3, 2\), expected \(3, 3\)"),
        ({"fields": np.full((3, 3), np.inf)}, "fields holds 9 NaN or infinite.*use `clamped`"),
        ({"clamped": [0, 1]}, r"clamped has shape \(2,\), expected \(3,\)"),
        ({"clamped": [0, 1, 3]}, r"clamped holds 3; allowed are -1 \(free\) and the states 0 to 2"),
        ({"clamped": [0, 1, 300]}, "clamped holds 300"),  # 300 is 44 in a byte
        ({"clamped": [0, 1, 0.5]}, "clamped must be whole numbers"),
        ({"n_states": 1}, "n_states=1 is out of range.*at least 2.*at most 127"),
        ({"n_states": True}, "n_states must be a whole number, got True"),
        ({"graph": np.eye(3)}, r"graph must be a spinlearn Graph, got ndarray.*from_sparse"),
        ({"couplings": [1e308, 1e308]}, "energies overflow.*divide them by one number"),
        ({"fields": np.full((3, 3), 1e308)}, "energies overflow"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    arguments = {"graph": PATH, "n_states": 3} | changes
    with pytest.raises(InvalidInputError, match=message):
        PottsModel(**arguments)


def test_energy_refuses():
    for states, message in (
        ([0, 1], r"states have shape \(2,\), expected \(3,\) or \(S, 3\)"),
        ([0, 1, 2], "states must lie in 0 to 1"),
        ([0, 1, -1], "states must lie in 0 to 1"),
        ([0, 1, 0.5], "states must be whole numbers"),
        ([[0, 1, 0], [0]], "states must be whole numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            PottsModel(PATH, 2).energy(states)


ARRAYS = {
    "Graph": ("edges", "weights", "indptr", "neighbors", "edge_ids"),
    "PottsModel": ("couplings", "pair_cost", "fields", "clamped"),
    "Equilibrium": ("temperatures", "marginals", "edge_agreement", "log_partition", "converged"),
}


def full_model():
    terms = {"pair_cost": [[0.0, 2.0], [2.0, 1.0]], "fields": np.ones((3, 2))}
    return PottsModel(PATH, 2, couplings=[1.0, -1.0], clamped=[1, -1, -1], **terms)


@pytest.fixture(params=sorted(ARRAYS))
def thing(request):
    model = full_model()
    run = JunctionTree().run(model, [0.0, 0.5, np.inf])
    return {"Graph": model.graph, "PottsModel": model, "Equilibrium": run}[request.param]


def test_arrays_are_read_only(thing):
    for name in ARRAYS[type(thing).__name__]:
        array = getattr(thing, name)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(AttributeError):
            setattr(thing, name, array)


def test_a_model_keeps_no_reference_to_its_input():
    arrays = {"fields": np.ones((3, 2)), "clamped": np.array([1, -1, -1], dtype=np.int8)}
    model = PottsModel(PATH, 2, **arrays)
    for name, array in arrays.items():
        before = getattr(model, name).copy()
        array[...] = 0
        np.testing.assert_array_equal(getattr(model, name), before)


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("way", [pickled, copy.deepcopy, copy.copy])
def test_copies_are_equal_and_still_read_only(thing, way):
    again = way(thing)
    assert type(again) is type(thing)
    assert repr(again) == repr(thing)
    for name in ARRAYS[type(thing).__name__]:
        array, original = getattr(again, name), getattr(thing, name)
        np.testing.assert_array_equal(array, original)
        assert array.dtype == original.dtype
        assert not array.flags.writeable
    if isinstance(thing, Equilibrium):
        np.testing.assert_array_equal(again.at([0.3]).marginals, thing.at([0.3]).marginals)


def test_a_replaced_model_is_checked_where_it_changed_and_nowhere_else(monkeypatch):
    model = full_model()
    with pytest.raises(InvalidInputError, match="fields holds 6 NaN"):
        model.replace(fields=np.full((3, 2), np.nan))
    with pytest.raises(InvalidInputError, match="no argument 'colour'"):
        model.replace(colour=1)
    checked = []
    whole = model_module._checked
    monkeypatch.setattr(model_module, "_checked", lambda *a: checked.append(a[2]) or whole(*a))
    other = model.replace(clamped=[-1, -1, 0])
    assert checked == ["clamped"]
    assert other.fields is model.fields
    states = [[0, 1, 0], [1, 1, 0], [0, 0, 1]]
    expected = [energy_by_hand(other, s) for s in states]
    np.testing.assert_allclose(other.energy(states), expected, rtol=1e-12)


def test_the_elimination_order_is_found_once(monkeypatch):
    asked = []
    find = elimination_solver.bucket_tree
    monkeypatch.setattr(
        elimination_solver, "bucket_tree", lambda *given: asked.append(1) or find(*given)
    )
    model = full_model()
    engine = Auto()
    assert not engine.keeps_levels(model)
    run = engine.run(model, [0.5, 1.0])
    run.at([0.7])
    engine.run(model.replace(fields=np.zeros((3, 2))), [0.5])
    assert len(asked) == 1
    engine.run(model.replace(clamped=[-1, -1, -1]), [0.5])
    assert len(asked) == 2
