"""model.npz: what was saved is loaded; another version, shape or kind of value is refused."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from pyarrow import parquet

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.energies import BalancedCut, MinCut
from spinlearn.engines import Enumeration, Multicanonical
from spinlearn.errors import InvalidInputError, UnreachedTemperatureError
from spinlearn.files.arrays import read_npz
from spinlearn.io.folder import write_label_parquet
from spinlearn.io.result import Result, equilibrium_arrays
from tests.conftest import grid_graph, labels_at


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The arrays of an exact answer, and those of a sampled one with a class term."""
    graph, folder = grid_graph(4, 4), tmp_path_factory.mktemp("stored")
    labels, found = labels_at({0: 0, 15: 1}, 16), {}
    for name, settings in {
        "exact": {"method": "paper"},
        "sampled": {"energy": BalancedCut(), "engine": Multicanonical(tol=0.5)},
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of errors above tol
            fitted = PottsClassifier(
                random_state=0, temperature=TemperatureRule(grid=[0.5, 1.0]), **settings
            ).fit(graph, labels)
        path = folder / f"{name}.npz"
        Result.of(fitted, [f"p{k}" for k in range(16)]).save(path)
        found[name] = read_npz(path)
    return found


def loaded(folder, arrays):
    np.savez(folder / "model.npz", **arrays)
    return Result.load(folder / "model.npz")


def refused(folder, arrays) -> str:
    with pytest.raises(InvalidInputError, match=r"model\.npz") as caught:
        loaded(folder, arrays)
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
    values = arrays[name].astype(np.result_type(arrays[name], np.array(value)))
    values.flat[0] = value
    return arrays | {name: values}


def with_law(arrays):
    """The arrays with an average of two classes that are equally probable everywhere."""
    n_points = len(arrays["fields"])
    law = {"shares": [0.5, 0.5, 0.0, 0.0], "n_judged": 4, "n_right": 3, "chance": False,
           "temperatures": [2.0, 1.0], "resolutions": [0.0],
           "phase_weights": [[0.5, 0.5]]}  # fmt: skip
    parts = {
        "law_probabilities": np.full((n_points, 2), 0.5, dtype=np.float32),
        "law_class_errors": np.zeros(2),
    }
    averaged = with_header(arrays, "law", value=law) | parts
    return with_header(averaged, "answer", "rule", value="average")


def test_an_answer_is_kept_where_samples_do_not_reach_between_its_temperatures():
    """As after a run of little time; such temperatures are left out, not the whole answer."""
    model = MinCut()(grid_graph(3, 3), [0, *[-1] * 7, 1], n_states=2)
    grid = [0.5, 1.0, 1.5]
    whole = Enumeration().run(model, grid)

    def reaching_below_one(temperatures, callback=None):
        if np.any((temperatures > 1) & (temperatures < 1.5)):
            raise UnreachedTemperatureError("energies do not overlap")
        return Enumeration().run(model, temperatures)

    sampled = replace(whole, evaluate=reaching_below_one, reweights=True)
    kept = equilibrium_arrays(sampled)["temperatures"]
    np.testing.assert_allclose(kept, [0.5, 0.625, 0.75, 0.875, 1.0, 1.5])


VALUES = {
    "temperatures": [np.nan], "profile_temperatures": [-1.0], "std_error": [-0.1],
    "marginals": [np.nan], "mean_energy": [np.nan], "profile_outcomes": [10**9],
    "profile_status": [100], "profile_margin": [1.5], "labels": [10**9, 0.5],
    "ids": ["", "p1", "p\ud800"], "couplings": [np.nan], "edges": [10**9], "clamped": [100],
    "penalty_targets": [np.nan],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_that_no_fit_gives_are_refused(tmp_path, stored, name):
    for value in VALUES[name]:
        refused(tmp_path, with_value(stored["sampled"], name, value))


@pytest.mark.parametrize(
    ("kind", "name", "change", "said"),
    [
        *[
            ("exact", name, lambda values: values.astype(np.float64), "")
            for name in ("converged", "profile_status", "profile_outcomes")
        ],
        ("exact", "marginals", np.zeros_like, "sums of marginals"),
        ("exact", "header", lambda text: np.array("[" * 200_000), ""),  # nested too deeply
        ("sampled", "std_error", None, "std_error is missing"),  # would pass for an exact one
        *[
            ("exact", name, lambda values, grid=grid: np.array(grid), "temperature")
            for name in ("temperatures", "profile_temperatures")
            for grid in ([7.0, 9.0], [0.5, 1e9])
        ],
        *[  # they would be stretched to fit
            ("sampled", name, lambda values, axis=axis: values.take([0], axis=axis), "")
            for name, n_axes in (("marginals", 3), ("std_error", 3), ("edge_agreement", 2),
                                 ("mean_energy", 1), ("profile_margin", 2), ("fields", 2))
            for axis in range(n_axes)
        ],
    ],
)  # fmt: skip
def test_arrays_of_another_kind_are_refused(tmp_path, stored, kind, name, change, said):
    arrays = dict(stored[kind])
    values = arrays.pop(name)
    if change is not None:
        arrays[name] = change(values)
    assert said in refused(tmp_path, arrays)


def test_averages_of_samples_are_known_between_the_temperatures_of_the_profile(tmp_path, stored):
    """Both kinds come back as what they are; engines of others may lack some error bars."""
    arrays = dict(stored["sampled"])
    assert len(arrays["temperatures"]) > len(arrays["profile_temperatures"])
    result = loaded(tmp_path, arrays)
    np.testing.assert_array_equal(result.equilibrium.temperatures, [0.5, 1.0])
    assert result.equilibrium.kind == "sampled"
    assert loaded(tmp_path, stored["exact"]).equilibrium.kind == "exact"
    del arrays["agreement_std_error"]
    between = loaded(tmp_path, arrays).equilibrium.at([0.77])
    assert between.std_error is not None
    assert between.agreement_std_error is None


def test_names_that_could_not_be_read_again_are_not_saved(tmp_path, stored):
    result = loaded(tmp_path, stored["exact"])
    for first in ("p1", "", "p\0"):
        with pytest.raises(InvalidInputError, match=r"told apart|zero byte"):
            replace(result, ids=[first, *result.ids[1:]]).save(tmp_path / "other.npz")


@pytest.mark.filterwarnings("error")
def test_single_precision_is_read_without_a_warning(tmp_path, stored):
    arrays = stored["exact"] | {"layout": np.zeros((16, 2))}
    for name in ("mean_energy", "heat_capacity", "layout"):
        loaded(tmp_path, arrays | {name: arrays[name].astype(np.float32)})


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_single_precision_are_shown_without_a_warning(tmp_path):
    """Weights and temperatures may be in any unit."""
    graph = grid_graph(3, 3)
    labels = [0, *[-1] * 7, 1]
    fitted = PottsClassifier(method="paper", temperature=TemperatureRule(grid=[1e300, 2e300]))
    fitted.fit(graph.with_weights(1e300 * graph.weights), labels)
    result = Result.of(fitted, [f"p{k}" for k in range(9)])
    result.explore(tmp_path / "page.html")
    write_label_parquet(tmp_path / "labels.parquet", result)
    sure = parquet.read_table(tmp_path / "labels.parquet").column("confidence").to_numpy()
    assert np.all(np.isfinite(sure))


def test_a_law_holds_probabilities_and_places_are_finite_and_one_per_point(tmp_path, stored):
    arrays = with_law(stored["exact"])
    assert loaded(tmp_path, arrays).law.n_right == 3
    for name, values in {"law_probabilities": (1.5, np.nan), "law_class_errors": (-0.5,)}.items():
        refused(tmp_path, arrays | {name: arrays[name][:-1]})
        for value in values:
            assert name in refused(tmp_path, with_value(arrays, name, value))
    good = np.zeros((16, 2))
    for name in ("layout", "components"):
        assert loaded(tmp_path, arrays | {name: good}) is not None
        for bad in (good[:1], good[:, :1], good + np.nan):
            refused(tmp_path, arrays | {name: bad})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 3),
        (("magic",), "another"),
        (("n_classes",), 3),
        (("confused_sets",), [[0, 99]]),
        (("answer", "temperature"), "warm"),
        (("answer", "choices"), 7),
        (("law",), None),
        (("law", "shares"), [0.5, 0.5]),
        (("law", "temperatures"), []),
        (("equilibrium", "kind"), "sacred"),
        (("proposals",), [{}]),
        (("settings",), 7),
    ],
)
def test_headers_that_no_fit_writes_are_refused(tmp_path, stored, path, value):
    refused(tmp_path, with_header(with_law(stored["exact"]), *path, value=value))
