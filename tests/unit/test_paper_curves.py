"""Counts of figure 2 from noisy averages: error bars reach the exact count, a bias is seen."""

import numpy as np
import pytest

from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.reproduction.comparison import paper_profile, wrong_points
from spinlearn.reproduction.fig2 import SampledCounts
from spinlearn.reproduction.yeast import Line

TEMPERATURES = [0.7, 1.2, 1.7]
STD_ERROR = 0.003


@pytest.fixture(scope="module")
def exact():
    toy = two_bands()
    run = JunctionTree().run(MinCut()(toy.graph(), toy.labels, 2), TEMPERATURES)
    return run, wrong_points(paper_profile(run, 2), toy.truth, [0, 1]).sum(axis=1)


def cells(exact, n_chains=4, bias=0.0):
    run, errors = exact
    generator = np.random.default_rng(0)
    found = []
    for _ in range(n_chains):
        marginals = run.marginals[:, :, 0] + STD_ERROR * generator.normal(size=(3, 1360))
        marginals[1, 600] += bias
        agreement = run.edge_agreement
        agreement = agreement + STD_ERROR * generator.normal(size=agreement.shape)
        result = {
            "temperatures": TEMPERATURES,
            "marginals": marginals.tolist(),
            "std_error": np.full((3, 1360), STD_ERROR).tolist(),
            "agreement": agreement.tolist(),
            "agreement_std_error": np.full(agreement.shape, STD_ERROR).tolist(),
            "exact_marginals": run.marginals[:, :, 0].tolist(),
            "exact_errors": errors.tolist(),
        }
        found.append({"settings": {"kind": "multicanonical"}, "result": result})
    return found


def test_error_bars_reach_the_exact_counts(exact):
    counts = SampledCounts(cells(exact))
    assert np.all((counts.low <= counts.exact) & (counts.exact <= counts.high))
    assert np.all((counts.low <= counts.errors) & (counts.errors <= counts.high))
    assert counts.high[1] > counts.low[1]  # at the transition, where noise turns points
    assert 2.5 < counts.z.max() < 5.5  # of 4080 normal numbers


def test_a_bias_of_one_marginal_is_seen(exact):
    assert SampledCounts(cells(exact, bias=0.02)).z[1] > 8


def test_lines_are_means_with_standard_errors():
    line = Line([[0.2, 0.5], [0.4, 0.5]])
    np.testing.assert_allclose(line.value, [0.3, 0.5])
    np.testing.assert_allclose(line.std_error, [0.1, 0.0])
    assert line.text(0) == "30.0% ± 10.0%"
    assert Line([[0.25]]).text(0) == "25.0%"
