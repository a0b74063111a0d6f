"""The temperature asked for, and finer grids, where samples of other temperatures say nothing."""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from spinlearn import PottsClassifier
from spinlearn.classifier import COARSE_SIZE
from spinlearn.engines import Enumeration, Multicanonical, SwendsenWang, Tempering
from spinlearn.errors import StoppedError, UnreachedTemperatureError, UnsupportedModelError
from tests.classifiers import classifier
from tests.conftest import grid_graph

GRAPH = grid_graph(3, 3)
LABELS = np.array([0, *[-1] * 7, 1])


def fitted(**settings) -> PottsClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of errors above tol
        return classifier(method="paper", random_state=0, **settings).fit(GRAPH, LABELS)


@pytest.mark.parametrize("engine", [Tempering, SwendsenWang, Multicanonical, Enumeration])
@pytest.mark.parametrize("saved", [False, True])
def test_a_temperature_beside_the_grid_is_computed_with_it(tmp_path, engine, saved):
    """Asked for after the run, it was refused, or took its checkpoint for that of another run."""
    limits = {} if engine is Enumeration else {"max_sweeps": 200}
    if saved and engine is not Enumeration:
        limits |= {"checkpoint": tmp_path / "run.npz", "checkpoint_seconds": 0}
    found = fitted(engine=engine(**limits), temperatures=[0.5, 1.0], temperature=0.7)
    assert found.temperature_ == 0.7
    np.testing.assert_array_equal(found.equilibrium_.temperatures, [0.5, 0.7, 1.0])


@dataclass(kw_only=True)
class _ShortRun(Enumeration):
    """Like a run of little time: what lies between its temperatures cannot be told."""

    error: type[Exception]
    name: ClassVar[str] = "short"

    def run(self, model, temperatures, seed=None, callback=None):
        def refuse(temperatures, callback=None):
            raise self.error("energies do not overlap")

        found = Enumeration().run(model, temperatures)
        return replace(found, evaluate=refuse, reweights=True)


@pytest.mark.parametrize("temperature", ["paper", 0.7])
@pytest.mark.parametrize("error", [UnreachedTemperatureError, UnsupportedModelError, StoppedError])
def test_a_grid_that_cannot_be_refined_is_kept(temperature, error):
    found = fitted(engine=_ShortRun(error=error), temperature=temperature)
    assert len(found.equilibrium_.temperatures) == COARSE_SIZE + (temperature == 0.7)
    assert found.temperature_ in found.equilibrium_.temperatures
