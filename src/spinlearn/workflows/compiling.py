"""Compile beforehand: small jobs of every kind, that meet every kernel which a command can meet.

Kernels of messages differ by the power of two that holds the classes: up to MOST_CLASSES are seen.
Those of the junction tree differ by the number of temperatures at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.advice import suggest, suspects
from spinlearn.baselines import BASELINES
from spinlearn.classifier import PottsClassifier
from spinlearn.default.walks import RandomWalks
from spinlearn.energies import Custom, MinCut, Modularity, NormalizedCut
from spinlearn.engines import ENGINES, BeliefPropagation, JunctionTree
from spinlearn.engines.exact.elimination import BLOCKS
from spinlearn.engines.messages.cooling import cooled_averages
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.minimizers import MINIMIZERS, minimize
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress

MOST_CLASSES = 32
TEMPERATURES = np.array([0.5, 1.0, 2.0])
# Of engines that have these settings, so that none takes long.
QUICK = {"max_sweeps": 60, "n_walkers": 64, "max_iterations": 20}
ROUGH = {"tol": 1.0}  # of samplers
SIDE = 5  # of a lattice

Job = Callable[[], Any]


def compile_all(callback: Callback | None = None) -> None:
    """Do all jobs; a true answer of the callback ends it."""
    done = list(jobs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small jobs settle nothing
        for k, (name, job) in enumerate(done):
            if callback is not None and callback(Progress(phase=name, fraction=k / len(done))):
                return
            try:
                job()
            except (UnsupportedModelError, InvalidInputError):  # not every model suits everyone
                continue


def jobs() -> Iterator[tuple[str, Job]]:
    """Name and work of every job."""
    counts = [2**k + 1 for k in range(1, MOST_CLASSES.bit_length() - 1)]
    for q in (2, *counts):
        points, labels = _points(q)
        yield f"a fit with {q} classes", partial(_fit, points, labels)
        model = Modularity()(_lattice(), _few(q), q)
        yield "belief propagation", partial(_in_single_precision, model)
    points, labels = _points(3)
    yield "groups without labels", partial(_fit, points, None)
    yield "the paper's method", partial(_fit, points, labels, method="paper")
    yield "a graph", partial(_fit, _lattice(), _few(2))
    for name in BASELINES:
        yield f"baseline {name}", partial(_baseline, name, points, labels)
        yield f"baseline {name}", partial(_baseline, name, *_points(2))
    exact = MinCut()(_lattice(), _few(2), 2)
    for count in BLOCKS:
        grid = np.linspace(0.5, 1.0, count)
        yield f"{count} exact averages", partial(JunctionTree().run, exact, grid)
    for model in _models():
        for name in MINIMIZERS:
            yield f"minimizer {name}", partial(minimize, model, name, 0)
        for name, engine in ENGINES.items():
            if name == "auto":  # one of the others
                continue
            plain: Any = engine()
            hasty = QUICK if hasattr(plain, "max_iterations") else QUICK | ROUGH
            known = {f.name for f in fields(plain)}
            if name == BeliefPropagation.name:
                hasty = {}
            quick = replace(plain, **{k: v for k, v in hasty.items() if k in known})
            yield f"engine {name}", partial(quick.run, model, TEMPERATURES, seed=0)


def _fit(points: Any, labels: Any, **settings: Any) -> None:
    """A fit with all that is asked of it afterwards."""
    fitted = PottsClassifier(random_state=0, **settings).fit(points, labels)
    fitted.equilibrium_  # noqa: B018 - computed when it is looked at
    if labels is not None:
        suggest(fitted, 2)
        suspects(fitted)


def _in_single_precision(model: PottsModel) -> None:
    """Messages and walks as they are in very large models."""
    engine, root = BeliefPropagation(tol=1e-3), np.random.SeedSequence(0)
    cooled_averages(engine, model, TEMPERATURES, root, None)
    RandomWalks(model.graph, tol=1e-3, dtype=np.float32).total()


def _baseline(name: str, points: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    BASELINES[name]().fit(points, labels)


def _points(q: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Points in groups, the first three of each labelled."""
    truth = np.repeat(np.arange(q), 12)
    points = np.random.default_rng(0).normal(size=(len(truth), 3))
    points[:, 0] += 4.0 * truth
    return points, np.where(np.arange(len(truth)) % 12 < 3, truth, -1)


def _lattice(weights: Any = None) -> Graph:
    at = np.arange(SIDE**2).reshape(SIDE, SIDE)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    down = np.column_stack([at[:-1].ravel(), at[1:].ravel()])
    return Graph(SIDE**2, np.concatenate([across, down]), weights)


def _few(q: int) -> npt.NDArray[np.intp]:
    """Labels of the lattice: one of each class, and few are left without."""
    return np.where(np.arange(SIDE**2) < q, np.arange(SIDE**2), -1)


def _models() -> Iterator[PottsModel]:
    """Of every form that kernels tell apart."""
    generator = np.random.default_rng(0)
    even = _lattice()
    uneven = _lattice(weights=generator.uniform(0.5, 1.5, even.n_edges))
    for q in (2, 3):
        yield MinCut()(even, _few(q), q)
        yield MinCut()(uneven, _few(q), q)
        yield MinCut(label_strength=2.0)(uneven, _few(q), q)
        yield Modularity()(uneven, _few(q), q)
    half = generator.normal(size=(q, q))
    yield NormalizedCut()(uneven, _few(q), q)
    yield Custom(pair_cost=half + half.T)(uneven, _few(q), q)
    yield Custom(couplings=generator.normal(size=even.n_edges))(uneven, _few(q), q)
