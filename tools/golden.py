"""Golden answers: some fifty models, fits and files of all kinds, held against stored answers.

    python -m tools.golden            compare, exit 1 where anything differs
    python -m tools.golden --store    store the answers of this code
    python -m tools.golden NAME ...   only cases whose name holds one of these words

A change that only moves, merges or renames leaves all of them as they are. Numbers are compared to
1e-9, sampled ones too: the same seed is the same stream. Text is compared word by word, numbers in
it to 1e-6. Of pages, all that is said in words is compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, make_blobs

from spinlearn import PottsClassifier
from spinlearn.baselines import BASELINES
from spinlearn.engines import ENGINES, draw_labellings
from spinlearn.errors import StoppedError
from spinlearn.graphs import KNN
from spinlearn.minimizers import minimize
from tests.cluster.models import clouds
from tests.conftest import grid_graph
from tests.energy_models import ENERGY_NAMES, random_model

STORED = Path(__file__).with_suffix(".npz")
CASES: dict[str, Callable[[], dict[str, Any]]] = {}
TEMPERATURES = [0.0, 0.3, 0.6, 1.2, np.inf]
SAMPLERS = {
    "multicanonical": {"tol": 0.1},
    "tempering": {"tol": 0.1},
    "swendsen_wang": {"tol": 0.2},
    "metropolis": {"tol": 0.2},
    "population_annealing": {"n_walkers": 64},
}


def case(name: str) -> Callable[[Callable[[], dict[str, Any]]], None]:
    def enter(run: Callable[[], dict[str, Any]]) -> None:
        CASES[name] = run

    return enter


def iris(n_labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X, truth = load_iris(return_X_y=True)
    y = np.full(len(truth), -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:: 50 // n_labels][:n_labels]] = k
    return X, y


def matrix(graph: Any) -> csr_array:
    """A graph as SciPy's users have it."""
    u, v = graph.edges.T
    half = csr_array((graph.weights, (u, v)), shape=(graph.n_nodes, graph.n_nodes))
    return half + half.T


def lattice() -> Any:
    """Five by five points of three classes, two of them labelled at opposite corners."""
    from spinlearn.model.potts import PottsModel

    clamped = np.full(25, -1)
    clamped[[0, 24]] = 0, 1
    return PottsModel(grid_graph(5, 5), 3, clamped=clamped)


def averages(equilibrium: Any) -> dict[str, Any]:
    names = ("temperatures", "marginals", "edge_agreement", "mean_energy", "heat_capacity")
    named = {name: getattr(equilibrium, name) for name in names}
    for name in ("log_partition", "std_error"):
        value = getattr(equilibrium, name)
        if value is not None:
            named[name] = value
    return named | {"converged": np.asarray(equilibrium.converged, dtype=float)}


def called(fitted: Any) -> dict[str, Any]:
    return {
        "calls": "\n".join(map(str, fitted.names_)),
        "status": "\n".join(map(str, fitted.status_)),
        "probabilities": fitted.label_distributions_,
        "new": fitted.new_probability_,
        "confidence": fitted.confidence_,
        "temperature": np.array([fitted.temperature_]),
        "accuracy": np.array(fitted.expected_accuracy_),
        "shares": np.asarray(fitted.class_shares_),
        "proposals": "\n".join(
            f"{p.name} {p.probability:.9g} {len(p.points)}" for p in fitted.proposals_
        ),
    }


# -- models ------------------------------------------------------------------------------------

for _name in ENGINES:

    @case(f"engine {_name}")
    def _(name: str = _name) -> dict[str, Any]:
        grid = TEMPERATURES if name not in SAMPLERS else TEMPERATURES[1:4]
        engine = ENGINES[name](**SAMPLERS.get(name, {}))
        model = lattice() if name != "enumeration" else random_model("lgc", _rng(), 6, 3)
        return averages(engine.run(model, grid, seed=1))


for _name in ENERGY_NAMES:

    @case(f"energy {_name}")
    def _(name: str = _name) -> dict[str, Any]:
        model = random_model(name, _rng(), 7, 3)
        found = averages(ENGINES["enumeration"]().run(model, TEMPERATURES))
        return found | {"minimum": np.asarray(minimize(model, seed=1).labels, dtype=float)}


for _name in ("multicanonical", "tempering", "population_annealing"):

    @case(f"class term {_name}")
    def _(name: str = _name) -> dict[str, Any]:
        engine = ENGINES[name](**SAMPLERS[name])
        model = random_model("balanced_cut", _rng(), 12, 3)
        return averages(engine.run(model, TEMPERATURES[1:4], seed=2))


@case("class term belief propagation")
def _() -> dict[str, Any]:
    return averages(ENGINES["belief_propagation"]().run(clouds(), [2.0, 1.0], seed=0))


@case("large belief propagation")
def _() -> dict[str, Any]:
    X, truth = make_blobs(60_000, centers=3, n_features=4, cluster_std=1.5, random_state=1)
    y = np.full(len(truth), -1)
    y[:30] = truth[:30]
    graph = KNN(n_neighbors=4, search="exact").build(X)
    from spinlearn.energies import Modularity

    found = ENGINES["belief_propagation"]().run(Modularity()(graph, y, 3), [0.5], seed=0)
    return {"marginals": found.marginals[0, ::50], "energy": found.mean_energy}


for _name in ("multicanonical", "tempering", "population_annealing", "belief_propagation"):

    @case(f"resumed {_name}")
    def _(name: str = _name) -> dict[str, Any]:
        model = lattice() if name != "belief_propagation" else clouds(200)
        with tempfile.TemporaryDirectory() as folder:
            engine = ENGINES[name](
                **SAMPLERS.get(name, {}), checkpoint=Path(folder) / "run", checkpoint_seconds=0.0
            )
            calls = iter(range(1_000_000))
            with suppress(StoppedError):
                engine.run(model, [0.3, 0.6, 1.2], seed=1, callback=lambda _: next(calls) == 6)
            return averages(engine.run(model, [0.3, 0.6, 1.2], seed=1))


@case("cluster belief propagation")
def _() -> dict[str, Any]:
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    from spinlearn.workflows.cluster import BlockPropagation

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
        as cluster,
        Client(cluster),
        parallel_config("dask"),
    ):  # fmt: skip
        return averages(BlockPropagation(n_blocks=3).run(clouds(), [2.0, 1.0]))


@case("drawn labellings")
def _() -> dict[str, Any]:
    found = draw_labellings(lattice(), 0.5, 20, seed=3)
    return {"labellings": np.asarray(getattr(found, "labellings", found), dtype=float)}


# -- fits --------------------------------------------------------------------------------------

FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "messages": {"method": "messages"},
    "paper": {"method": "paper"},
    "noise": {"label_noise": 0.1},
    "shares": {"proportions": [0.5, 0.3, 0.2]},
    "nothing new": {"novelty": 0.0},
    "features off": {"features": "off"},
    "calibrated": {"temperature": "calibrated"},
    "one temperature": {"temperature": 0.5},
    "balanced": {"energy": "balanced_cut", "random_state": 1},
    "diffused": {"energy": "diffused_cut", "random_state": 1},
    "mutual": {"graph": "mutual_knn", "tau": 0.3},
}
for _name, _settings in FITS.items():

    @case(f"fit {_name}")
    def _(settings: dict[str, Any] = _settings) -> dict[str, Any]:
        return called(PottsClassifier(**settings).fit(*iris()))


@case("fit sampled")
def _() -> dict[str, Any]:
    X, y = iris()
    engine = ENGINES["tempering"](tol=0.2)
    return called(
        PottsClassifier(method="paper", engine=engine, random_state=1).fit(X[::3], y[::3])
    )


@case("fit normalized")
def _() -> dict[str, Any]:
    X, y = iris(5)
    engine = ENGINES["population_annealing"](n_walkers=64)
    settings = {"energy": "normalized_cut", "engine": engine, "random_state": 1}
    return called(PottsClassifier(**settings).fit(X[::5], y[::5]))


@case("fit frame and words")
def _() -> dict[str, Any]:
    import pandas as pd

    X, y = iris(2)
    words = np.array(["", "setosa", "versicolor", "virginica"], dtype=object)[y + 1]
    fitted = PottsClassifier().fit(pd.DataFrame(X, columns=list("abcd")), words)
    return called(fitted) | {"unseen": fitted.predict_proba(pd.DataFrame(X + 0.05, columns=list("abcd")))}  # fmt: skip  # noqa: E501


@case("fit graph")
def _() -> dict[str, Any]:
    X, y = iris()
    return called(PottsClassifier().fit(matrix(KNN(n_neighbors=8, search="exact").build(X)), y))


@case("fit nothing")
def _() -> dict[str, Any]:
    return called(PottsClassifier().fit(iris()[0]))


@case("fit digits")
def _() -> dict[str, Any]:
    X, truth = load_digits(return_X_y=True)
    y = np.full(600, -1)
    y[:40] = truth[:40]
    return called(PottsClassifier().fit(X[:600], y))


@case("fit hidden class, accepted")
def _() -> dict[str, Any]:
    X, truth = make_blobs([60, 60, 40], random_state=4, n_features=4)
    y = np.full(len(truth), -1)
    for k in range(2):
        y[np.flatnonzero(truth == k)[:3]] = k
    fitted = PottsClassifier().fit(X, y)
    before = called(fitted)
    fitted.accept(fitted.proposals_[0].name, 2)
    return before | {f"accepted {name}": value for name, value in called(fitted).items()}


@case("fit and ask")
def _() -> dict[str, Any]:
    from spinlearn import suggest, suspects

    fitted = PottsClassifier().fit(*iris())
    return {
        "suggest": "\n".join(map(str, suggest(fitted, 5))),
        "suspects": "\n".join(map(str, suspects(fitted))),
    }


for _name in BASELINES:

    @case(f"baseline {_name}")
    def _(name: str = _name) -> dict[str, Any]:
        seeded = {"random_state": 1} if "random_state" in BASELINES[name]().get_params() else {}
        fitted = BASELINES[name](**seeded).fit(*iris())
        calls = fitted.transduction_ if hasattr(fitted, "transduction_") else fitted.labels_
        found = {"calls": "\n".join(map(str, calls))}
        if hasattr(fitted, "label_distributions_"):
            found["probabilities"] = fitted.label_distributions_
        return found


# -- files -------------------------------------------------------------------------------------


def _write(kind: str, folder: Path) -> list[str]:
    """A file of this kind and the options to read it."""
    import pandas as pd
    from scipy.io import mmwrite

    X, y = iris()
    names = np.array(["", "setosa", "versicolor", "virginica"], dtype=object)
    frame = pd.DataFrame(X, columns=["sepal_l", "sepal_w", "petal_l", "petal_w"])
    frame.insert(0, "id", [f"{i:04d}" for i in range(len(X))])
    frame["species"] = names[y + 1]
    path = folder / f"data.{kind}"
    if kind in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npz":
        np.savez(path, X=X, y=y)
        return [str(path)]
    elif kind == "h5ad":
        import anndata

        cells = anndata.AnnData(X, obs=pd.DataFrame({"species": frame.species.to_numpy()}, index=frame.id.to_numpy()))  # fmt: skip  # noqa: E501
        cells.write_h5ad(path)
    else:
        graph = KNN(n_neighbors=8, search="exact").build(X)
        frame[["id", "species"]].to_csv(folder / "labels.csv", index=False)
        if kind == "mtx":
            frame.id = range(len(X))
            frame[["id", "species"]].to_csv(folder / "labels.csv", index=False)
            mmwrite(path, matrix(graph), symmetry="symmetric")
        else:
            ids = frame.id.to_numpy()
            rows = zip(ids[graph.edges[:, 0]], ids[graph.edges[:, 1]], graph.weights, strict=True)
            path.write_text("".join(f"{u}\t{v}\t{w:.17g}\n" for u, v, w in rows))
        return [str(path), "--labels-file", str(folder / "labels.csv")]
    return [str(path), "--labels", "species"] + (["--id", "id"] if kind != "h5ad" else [])


def _command(kind: str, options: list[str], answer: Path) -> None:
    from typer.testing import CliRunner

    from spinlearn.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        words = ["fit", *_write(kind, Path(folder)), "--out", str(answer), *options]
        result = CliRunner().invoke(app, words)
    if result.exit_code:
        raise RuntimeError(f"{words}: exit {result.exit_code}: {result.output}")


def _page(text: str) -> str:
    """The words of a page: its data without arrays, and without places, in which rounding grows."""
    block = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S)
    data = json.loads(block[1]) if block else {}

    def words(value: Any, name: str = "") -> Iterator[str]:
        if isinstance(value, dict):
            for key in sorted(value):
                if key not in ("data", "version", "layouts"):
                    yield from words(value[key], f"{name}.{key}")
        elif isinstance(value, list):
            for item in value:
                yield from words(item, name)
        elif not (isinstance(value, str) and len(value) > 400):
            yield f"{name} {value}"

    return "\n".join(words(data))


RUNS = {
    "csv": [],
    "tsv": ["--scale", "none"],
    "parquet": ["--method", "paper"],
    "npz": ["--energy", "balanced_cut"],
    "h5ad": [],
    "mtx": ["--method", "messages"],
    "edges": ["--method", "paper", "--seed", "3"],
}
for _name, _options in RUNS.items():

    @case(f"file {_name}")
    def _(kind: str = _name, options: list[str] = _options) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "answer"
            _command(kind, options, answer)
            tables = ("labels.csv", "profile.csv", "proposals.csv")
            found = {name: (answer / name).read_text() for name in tables}
            found["report.html"] = _page((answer / "report.html").read_text())
            from spinlearn.io.result import Result

            stored = Result.load(answer)
            return found | {"stored": np.asarray(stored.probabilities)}


# -- comparison --------------------------------------------------------------------------------


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def differences(value: Any, expected: Any, tolerance: float = 1e-9) -> str | None:
    """What differs, in words; None where nothing does."""
    if isinstance(value, str):
        return _text_difference(value, str(expected), max(tolerance, 1e-6))
    value = np.asarray(value, dtype=np.float64)
    if value.shape != expected.shape:
        return f"shape {value.shape}, was {expected.shape}"
    if np.array_equal(value, expected, equal_nan=True):
        return None
    with np.errstate(invalid="ignore"):
        far = np.nanmax(np.where(value == expected, 0.0, np.abs(value - expected)), initial=0.0)
    if not np.allclose(value, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return f"differs by up to {far:.3g}"
    return None


def _text_difference(text: str, expected: str, tolerance: float) -> str | None:
    new, old = re.split(r"([\s,;|=]+)", text), re.split(r"([\s,;|=]+)", expected)
    if len(new) != len(old):
        return f"{len(new)} words, were {len(old)}"
    for a, b in zip(new, old, strict=True):
        if a == b:
            continue
        try:
            same = np.isclose(float(a), float(b), rtol=tolerance, atol=tolerance)
        except ValueError:
            same = False
        if not same:
            return f"{a!r}, was {b!r}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only cases whose name holds one of these")
    parser.add_argument("--store", action="store_true", help="store the answers of this code")
    options = parser.parse_args()
    chosen = [n for n in CASES if not options.words or any(w in n for w in options.words)]
    stored = dict(np.load(STORED)) if STORED.exists() else {}
    bad = 0
    for name in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = perf_counter()
            answer = CASES[name]()
            print(f"{name}: {perf_counter() - began:.1f} s", flush=True)
        if options.store:
            stored |= {f"{name}/{part}": np.asarray(value) for part, value in answer.items()}
            np.savez_compressed(STORED, **stored)
            continue
        for part, value in answer.items():
            key = f"{name}/{part}"
            why = "not stored" if key not in stored else differences(value, stored[key])
            if why:
                bad += 1
                print(f"{key}: {why}", flush=True)
    print(f"{len(chosen)} cases, {bad} differences")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
