"""`spinlearn doctor`: whether the installation is sound."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import joblib
import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from spinlearn import __version__
from spinlearn.cli.console import console, say
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel

PACKAGE = Path(__file__).parents[1]
NEEDED = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "filelock")
OPTIONAL = ("typer", "rich", "matplotlib", "pandas", "pyarrow", "anndata")
SELF_TEST_TOL = 2e-3  # some seconds of work, however busy the machine is
TEMPERATURES = (0.7, 1.5)
MAX_OFF = 0.02  # of a probability; with that tolerance it comes within 0.005
MAX_Z = 6.0
LEAST_ERROR = 1e-4  # standard errors below are themselves uncertain


def doctor() -> None:
    """Check versions, cores, the cache of compiled code, and answers against exact ones.

    Example:

        spinlearn doctor
    """
    screen = console()
    say(
        screen,
        "compiling, then testing for some seconds; the first time compiling "
        "takes about half a minute",
    )
    table = Table("check", "", "what was found")
    bad = 0
    for check in checks():
        bad += not check.good
        mark = Text("ok", "green") if check.good else Text("BAD", "bold red")
        table.add_row(Text(check.name), mark, Text(check.found))
    screen.print(table)
    if bad:
        say(screen, f"{bad} checks failed", "red")
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    good: bool
    found: str


def checks() -> Iterator[Check]:
    """All checks, one after another."""
    yield Check("spinlearn", True, f"{__version__} in {PACKAGE}")
    yield Check("python", sys.version_info >= (3, 11), f"{platform.python_version()}")
    for name in NEEDED:
        found = _version(name)
        yield Check(name, found is not None, found or "missing: pip install spinlearn")
    present = [f"{name} {_version(name)}" for name in OPTIONAL if _version(name)]
    absent = [name for name in OPTIONAL if not _version(name)]
    yield Check("optional", True, ", ".join(present + [f"no {name}" for name in absent]))
    yield Check("cores", True, f"{joblib.cpu_count()} of {os.cpu_count()}")
    yield _cache()
    yield _compiled()
    yield _exact()
    yield _sampled()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> Check:
    """Whether compiled kernels can be kept; without that every start compiles again."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(place) if place else PACKAGE / "kernels" / "__pycache__"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Check(
            "numba cache", False, f"{folder}: {error.strerror}; set NUMBA_CACHE_DIR to a folder"
        )
    size = sum(f.stat().st_size for f in folder.rglob("*.nb*"))
    return Check("numba cache", True, f"{folder}, {size / 1e6:.1f} MB")


def _compiled() -> Check:
    """Compiles what the tests use, so that they measure answers and not the compiler."""
    began = perf_counter()
    _exact()
    _sample(_ladder(10, 2), tol=1.0)
    return Check("compiled code", True, f"ready after {perf_counter() - began:.1f} s")


def _exact() -> Check:
    from spinlearn.engines import Enumeration, JunctionTree

    model = _ladder(5, 3)
    temperatures = [0.0, 0.5, 1.0, np.inf]
    listed = Enumeration().run(model, temperatures)
    found = JunctionTree().run(model, temperatures)
    worst = float(np.abs(found.marginals - listed.marginals).max())
    return Check(
        "junction tree", worst < 1e-10, f"within {worst:.0e} of enumeration, {model.n_nodes} points"
    )


def _sampled() -> Check:
    from spinlearn.engines import JunctionTree

    model = _ladder(10, 2)
    began = perf_counter()
    found = _sample(model, tol=SELF_TEST_TOL)
    seconds = perf_counter() - began
    return judged(found, JunctionTree().run(model, TEMPERATURES), seconds)


def judged(found: Equilibrium, exact: Equilibrium, seconds: float) -> Check:
    """Whether sampled probabilities are exact up to their own errors, and those are small."""
    assert found.std_error is not None  # it samples
    free = exact.model.free_nodes
    difference = np.abs(found.marginals - exact.marginals)[:, free]
    off = float(difference.max())
    z = float(np.max(difference / np.maximum(found.std_error[:, free], LEAST_ERROR)))
    return Check(
        "multicanonical",
        off < MAX_OFF and z < MAX_Z,
        f"within {off:.4f} of exact (allowed {MAX_OFF:g}), {z:.1f} standard errors (allowed "
        f"{MAX_Z:g}), in {seconds:.1f} s",
    )


def _sample(model: PottsModel, *, tol: float) -> Equilibrium:
    from spinlearn.engines import Multicanonical

    return Multicanonical(tol=tol).run(model, TEMPERATURES, seed=0)


def _ladder(length: int, n_states: int) -> PottsModel:
    """Two coupled rows with a label at each end."""
    rungs = [(2 * k, 2 * k + 1) for k in range(length)]
    rails = [(k, k + 2) for k in range(2 * length - 2)]
    clamped = np.full(2 * length, -1)
    clamped[0], clamped[-1] = 0, 1
    return PottsModel(Graph(2 * length, rungs + rails), n_states, clamped=clamped)
