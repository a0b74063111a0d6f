"""`import spinlearn` is light, and every public name exists."""

import subprocess
import sys

import pytest

import spinlearn

PROBE = """
import sys, numpy.random, numpy.typing
before = set(sys.modules)
import {}
print(*(set(sys.modules) - before))
"""


@pytest.mark.parametrize("module", ["spinlearn", "spinlearn.graphs"])
def test_import_is_light(module):
    """It loads nothing but what Python and NumPy bring."""
    code = PROBE.format(module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - sys.stdlib_module_names - {"numpy"} == {"spinlearn"}


def test_the_classifier_brings_what_a_fit_needs_and_no_more():
    """Beside NumPy, SciPy and Numba only what scikit-learn's base class brings, pandas or not."""

    def loaded(*modules: str) -> set[str]:
        code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return set(done.stdout.split())

    base = loaded("sklearn.base", "sklearn.utils.validation", "numba", "joblib")
    ours = loaded("spinlearn.classifier") - base - set(sys.stdlib_module_names)
    packages = {name.partition(".")[0] for name in ours} - set(sys.stdlib_module_names)
    assert packages <= {"spinlearn", "numpy", "scipy", "numba", "llvmlite", "threadpoolctl"}


def test_every_public_name_resolves():
    for name in spinlearn.__all__:
        assert getattr(spinlearn, name) is not None
    assert set(spinlearn.__all__) <= set(dir(spinlearn))
