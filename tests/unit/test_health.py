"""The doctor's verdict goes by error bars and by a tolerance, on code compiled beforehand."""

from dataclasses import replace

import numpy as np
import pytest

from spinlearn.cli import others as health
from spinlearn.engines import JunctionTree

MODEL = health._ladder(10, 2)
EXACT = JunctionTree().run(MODEL, health.TEMPERATURES)


def sampled(off: float, error: float):
    """Averages that are off at one point, with the same error everywhere."""
    marginals = EXACT.marginals.copy()
    point = MODEL.free_nodes[3]
    marginals[1, point] += [off, -off]
    errors = np.full(marginals.shape, error)
    return replace(EXACT, marginals=marginals, std_error=errors, engine="multicanonical")


@pytest.mark.parametrize(
    ("off", "error", "good"),
    [
        (0.002, 0.001, True),
        (0.0779, 0.05, False),  # within its errors, but they are too large to test anything
        (0.008, 0.001, False),  # small, but eight standard errors
        (0.0005, 0.0, True),  # below what errors can be known to
    ],
)
def test_verdict(off, error, good):
    check = health.judged(sampled(off, error), EXACT, 5.0)
    assert check.good is good
    assert f"within {off:.4f} of exact (allowed 0.02)" in check.found
    assert f"{off / max(error, health.LEAST_ERROR):.1f} standard errors (allowed 6)" in check.found


def test_sampling_is_tested_after_compiling_by_work_and_not_by_time():
    found = {check.name: check for check in health.checks()}
    names = list(found)
    assert (
        names.index("compiled code") < names.index("junction tree") < names.index("multicanonical")
    )
    assert found["multicanonical"].good
    run = health._sample(MODEL, tol=health.SELF_TEST_TOL)
    assert run.converged.all()
    again = health.judged(run, EXACT, 0.0)
    assert again.found.split(", in ")[0] == found["multicanonical"].found.split(", in ")[0]
