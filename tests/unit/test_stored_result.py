"""model.npz: hand-made files that no fit can have written are refused at once."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from spinlearn import PottsClassifier
from spinlearn.core.array_file import read_npz
from spinlearn.energies import BalancedCut, min_cut
from spinlearn.engines import Enumeration, Multicanonical
from spinlearn.errors import InvalidInputError, UnreachedTemperatureError
from spinlearn.io.result import Result
from spinlearn.io.stored_averages import equilibrium_arrays
from tests.conftest import grid_graph


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The arrays of an exact answer, and those of a sampled one with a class term."""
    graph, folder = grid_graph(4, 4), tmp_path_factory.mktemp("stored")
    labels = np.full(16, -1)
    labels[[0, 15]] = 0, 1
    found = {}
    for name, settings in {
        "exact": {"method": "paper"},
        "sampled": {"energy": BalancedCut(), "engine": Multicanonical(tol=0.5)},
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of errors above tol
            fitted = PottsClassifier(temperatures=[0.5, 1.0], random_state=0, **settings).fit(
                graph, labels
            )
        path = folder / f"{name}.npz"
        Result.of(fitted, [f"p{k}" for k in range(16)]).save(path)
        found[name] = read_npz(path)
    return found


def loaded(folder, arrays):
    np.savez(folder / "model.npz", **arrays)
    return Result.load(folder / "model.npz")


def refused(folder, arrays) -> str:
    with pytest.raises(InvalidInputError) as caught:
        loaded(folder, arrays)
    assert "model.npz" in str(caught.value)
    return str(caught.value)


def with_header(arrays, *path, value):
    """The arrays with one entry of the header replaced."""
    header = json.loads(str(arrays["header"]))
    place = header
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return arrays | {"header": np.array(json.dumps(header))}


def with_value(arrays, name, value):
    """The arrays with the first entry of one replaced."""
    values = arrays[name].astype(np.result_type(arrays[name], type(value)))
    values.flat[0] = value
    return arrays | {name: values}


def test_an_answer_is_kept_where_samples_do_not_reach_between_its_temperatures():
    """As after a run of little time; such temperatures are left out, not the whole answer."""
    model = min_cut(grid_graph(3, 3), [0, *[-1] * 7, 1], n_states=2)
    grid = [0.5, 1.0, 1.5]
    whole = Enumeration().run(model, grid)

    def reaching_below_one(temperatures, callback=None):
        if np.any((temperatures > 1) & (temperatures < 1.5)):
            raise UnreachedTemperatureError("energies do not overlap")
        return Enumeration().run(model, temperatures)

    sampled = replace(whole, evaluate=reaching_below_one, reweights=True)
    kept = equilibrium_arrays(sampled)["temperatures"]
    np.testing.assert_allclose(kept, [0.5, 0.625, 0.75, 0.875, 1.0, 1.5])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exact", "sampled"])
def test_what_was_saved_is_loaded(tmp_path, stored, kind):
    assert loaded(tmp_path, stored[kind]).equilibrium.kind == kind


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperatures", np.nan),
        ("temperatures", -1.0),
        ("profile_temperatures", np.nan),
        ("profile_temperatures", 9.0),
        ("std_error", -0.1),
        ("std_error", np.nan),
        ("agreement_std_error", -0.1),
        ("marginals", np.nan),
        ("marginals", 1.5),
        ("edge_agreement", -0.5),
        ("mean_energy", np.nan),
        ("heat_capacity", np.inf),
        ("profile_outcomes", 10**9),
        ("profile_outcomes", 10**12),
        ("profile_outcomes", -(10**9)),
        ("profile_status", 100),
        ("profile_margin", np.nan),
        ("labels", 10**9),
        ("labels", -2),
        ("couplings", np.nan),
        ("edges", 10**9),
        ("clamped", 100),
        ("penalty_coefficient", np.nan),
        ("penalty_sizes", -1.0),
        ("penalty_targets", np.inf),
    ],
)
def test_values_that_no_fit_gives_are_refused(tmp_path, stored, name, value):
    refused(tmp_path, with_value(stored["sampled"], name, value))


def test_marginals_of_zero_are_refused(tmp_path, stored):
    arrays = stored["exact"]
    said = refused(tmp_path, arrays | {"marginals": np.zeros_like(arrays["marginals"])})
    assert "sums of marginals" in said


@pytest.mark.parametrize(
    "name", ["marginals", "std_error", "edge_agreement", "mean_energy", "profile_margin", "fields"]
)
def test_arrays_that_would_be_stretched_to_fit_are_refused(tmp_path, stored, name):
    arrays = stored["sampled"]
    for axis in range(arrays[name].ndim):
        refused(tmp_path, arrays | {name: arrays[name].take([0], axis=axis)})


@pytest.mark.parametrize("name", ["converged", "profile_status", "profile_outcomes"])
def test_arrays_of_another_kind_are_refused(tmp_path, stored, name):
    arrays = stored["exact"]
    refused(tmp_path, arrays | {name: arrays[name].astype(np.float64)})


def test_an_array_under_another_name_is_refused(tmp_path, stored):
    """Without its error bars a sampled answer would pass for one of unknown errors."""
    arrays = dict(stored["sampled"])
    arrays["std_errop"] = arrays.pop("std_error")
    assert "'std_errop', which no result has" in refused(tmp_path, arrays)


@pytest.mark.parametrize("name", ["layout", "components"])
def test_places_are_finite_and_one_per_point(tmp_path, stored, name):
    n_points = len(stored["exact"]["ids"])
    good = np.zeros((n_points, 2))
    assert loaded(tmp_path, stored["exact"] | {name: good}) is not None
    for bad in (good[:1], good[:, :1], good + np.nan):
        refused(tmp_path, stored["exact"] | {name: bad})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("n_classes",), float("inf")),
        (("n_classes",), 3),
        (("confused_sets",), [[0, 99]]),
        (("answer", "temperature"), float("inf")),
        (("answer", "temperature"), "warm"),
        (("answer", "rule"), "by guess"),
        (("answer", "tau"), -1),
        (("answer", "small_groups"), "vanish"),
        (("answer", "choices"), 7),
        (("equilibrium", "kind"), "sacred"),
        (("settings",), 7),
    ],
)
def test_headers_that_no_fit_writes_are_refused(tmp_path, stored, path, value):
    refused(tmp_path, with_header(stored["exact"], *path, value=value))


def test_a_header_nested_too_deeply_is_refused(tmp_path, stored):
    refused(tmp_path, stored["exact"] | {"header": np.array("[" * 200_000)})
