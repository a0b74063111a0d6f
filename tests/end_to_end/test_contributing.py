"""CONTRIBUTING.md: its examples work, and its lists are those of the code."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spinlearn
from spinlearn import PottsModel, Result
from spinlearn.datasets import two_bands
from spinlearn.energies import ENERGIES, MinCut
from spinlearn.engines import ENGINES, Enumeration
from spinlearn.graphs import PixelGrid
from spinlearn.io.reading import READERS
from spinlearn.model.class_penalty import ClassPenalty
from tests.end_to_end.tool import spinlearn_here, worked
from tests.public_names import public_modules

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def page():
    """The page's snippets, run in order; registries are as before afterwards."""
    registries = (ENGINES, ENERGIES, READERS)
    before = [dict(registry) for registry in registries]
    scope: dict = {"__name__": "contributing"}
    for snippet in SNIPPETS:
        exec(compile(snippet, "CONTRIBUTING.md", "exec", dont_inherit=True), scope)
    yield scope
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


def test_the_engine_is_an_approximation_that_hot_models_need_no_more_than(page):
    engine = page["MeanField"]()
    model = MinCut()(PixelGrid().build(np.ones((2, 3), bool)), [0, -1, -1, -1, -1, 1], 2)
    hot = [20.0, np.inf]
    found, exact = engine.run(model, hot), Enumeration().run(model, hot)
    # Mean field errs by order 1/T^2 in the marginals.
    np.testing.assert_allclose(found.marginals, exact.marginals, atol=2e-3)
    np.testing.assert_allclose(found.mean_energy, exact.mean_energy, atol=0.05)
    assert found.kind == "approximate"
    assert engine.unsupported(model) is None
    penalty = ClassPenalty.quadratic(np.ones(6), 1.0, n_states=2)
    assert "belief_propagation" in engine.unsupported(model.replace(class_penalty=penalty))


def test_the_energy_is_the_equation(page):
    graph = PixelGrid(values=np.array([[0.0, 0.4, 1.0]])).build(np.ones((1, 3), bool))
    model = page["squared_cut"](graph, [0, -1, 1], 2)
    assert isinstance(model, PottsModel)
    assert model.energy([0, 0, 1]) == pytest.approx(graph.weights[1] ** 2)
    assert page["clf"].get_params()["energy"] == "squared_cut"
    assert page["clf"].transduction_.shape == two_bands().labels.shape


def test_all_three_work_from_the_command_line(page, tmp_path):
    rows = [
        {"id": f"p{k}", "label": {3: "ash", 15: "oak"}.get(k), "x": [k % 12 / 4, 10.0 * (k // 12)]}
        for k in range(24)
    ]
    file = tmp_path / "points.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    command = ["fit", str(file), "--engine", "mean_field", "--energy", "squared_cut", "--quiet"]
    worked(*command, "--out", "answer", cwd=tmp_path)
    stored = Result.load(tmp_path / "answer")
    assert (stored.names[0], stored.names[23]) == ("ash", "oak")
    assert stored.equilibrium.engine == "mean_field"
    file.write_text('{"id": 1}', encoding="utf-8")
    refused = spinlearn_here("fit", str(file), "--out", "other", cwd=tmp_path)
    assert refused.returncode == 2
    assert "one JSON object" in " ".join(refused.stderr.split())


def test_its_lists_are_those_of_the_code():
    package = Path(spinlearn.__file__).parent
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \| ", TEXT, re.MULTILINE)) == folders
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", TEXT))
    assert named <= targets
    stable = TEXT.partition("## What is stable")[2].partition("| what |")[0]
    told = set(re.findall(r"`(spinlearn\.[a-z]+)`", stable))
    assert told == {module.__name__ for module in public_modules()} - {"spinlearn"}


def test_files_that_it_names_exist():
    package = Path(spinlearn.__file__).parent
    for name in re.findall(r"`([\w./-]+/[\w-]+\.\w+)`", TEXT):
        if name != "engines/messages/mean_field.py":  # the example
            assert (ROOT / name).exists() or (package / name).exists(), name
    for word, name in re.findall(r"`([\w.]+)`\s+(?:of |in |\()`([\w./-]+\.(?:py|js))`", TEXT):
        file = ROOT / name if (ROOT / name).exists() else package / name
        assert word.split(".")[-1] in file.read_text("utf-8"), f"{word} is not in {name}"
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        path, _, anchor = target.partition("#")
        assert not path or (ROOT / path).exists(), target
        if not path:
            headings = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
            assert anchor in {h.lower().replace(" ", "-") for h in headings}, target


@pytest.mark.slow
def test_the_page_on_the_house_is_that_of_the_code():
    """`python docs/house.py` writes it anew."""
    command = [sys.executable, "docs/house.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
