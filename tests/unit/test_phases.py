"""The phases of models whose phases are known."""

import numpy as np
import pytest

from spinlearn.engines import JunctionTree
from spinlearn.model.phases import Phase, phases
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, grids


def test_two_weakly_joined_grains_pass_through_all_three_phases():
    model = PottsModel(grids(2, 5, 6, [(29, 30)], 0.05), 2)
    run = JunctionTree().run(model, [2.5, 0.01, 0.3, 0.6, 0.05])
    found = phases(run)
    assert found.temperatures.tolist() == [0.01, 0.05, 0.3, 0.6, 2.5]
    names = [p.value for p in found.phases]
    # An edge of strength J keeps its ends together up to T = J / ln(1 + q) = 0.0455.
    assert names == ["ferromagnetic"] + 3 * ["super-paramagnetic"] + ["paramagnetic"]
    np.testing.assert_allclose(found.largest_grain[:4], [1.0, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(found.susceptibility[:3], [60.0, 30.0, 30.0])
    spans = found.intervals()
    assert [s.phase for s in spans] == list(Phase)
    assert spans[0].high == spans[1].low == pytest.approx(0.03)
    assert spans[-1].high == 2.5


def test_single_grain_has_no_super_paramagnetic_phase_at_low_temperature():
    run = JunctionTree().run(PottsModel(grid_graph(5, 6), 2), np.linspace(0.05, 0.6, 8))
    assert set(phases(run).phases) == {Phase.FERROMAGNETIC}
