"""Every snippet of the guides runs: Python in order in one namespace, console lines as commands."""

import contextlib
import io
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.tool import spinlearn_here

DOCS = Path(__file__).parents[2] / "docs"
INCLUDED = ("CHANGELOG.md", "CONTRIBUTING.md")  # from above, by Sphinx
WITHOUT_CODE = (
    *("background.md", "benchmarks.md", "explorers.md", "few-labels.md", "glossary.md"),
    *("growth.md", "guides.md", "how-it-is-built.md", "install.md"),
)
PAGES = sorted(path.name for path in DOCS.glob("*.md") if path.name not in INCLUDED)
GUIDES = [name for name in PAGES if name not in WITHOUT_CODE]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TOLD = (  # what a page must be about, by its first heading
    "spinlearn", "Start in five minutes", "Labels", "Label by looking", "Reading a profile",
    "New classes", "Choosing a graph", "Which energy", "Which engine",
    "How far to trust a probability", "Many points", "Coming from another tool",
    "The physics on one page", "The paper, claim by claim", "Benchmarks", "Glossary",
)  # fmt: skip


def run_console(text: str, folder: Path) -> None:
    """Lines that begin with $; spinlearn in this process, others by the shell."""
    for line in text.splitlines():
        if not line.startswith("$ ") or line.startswith("$ pip install"):
            continue
        words = shlex.split(line[2:])
        if words[0] == "spinlearn":
            done = spinlearn_here(*words[1:], cwd=folder)
        else:
            done = subprocess.run(
                line[2:], shell=True, cwd=folder, capture_output=True, text=True, check=False
            )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def run_page(page: str, folder: Path) -> dict:
    """What a page has made when all of it has run."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks, f"{page} shows nothing that runs"
    namespace: dict = {}
    for kind, text in blocks:
        if kind == "console":
            run_console(text, folder)
        else:
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, page, "exec"), namespace)
    return namespace


def check(page: str, made: dict, folder: Path) -> None:
    """What some of them must find."""
    match page:
        case "index.md":
            assert (folder / "answer" / "labels.csv").exists()
            assert (folder / "answer" / "report.html").exists()
        case "default-answer.md":
            members = made["clf"].new_classes_["new:1"]
            assert np.mean(made["truth"][members] == 3) > 0.95
            assert len(members) > 0.8 * np.sum(made["truth"] == 3)
        case "energies.md":
            errors = made["table"].set_index("method").forced_errors
            assert errors[["min_cut", "lgc", "sgt"]].tolist() == [677, 5, 7]
        case "physics.md":  # exact averages of a ring
            np.testing.assert_allclose(made["run"].marginals[0, :, 0], 1.0)
            np.testing.assert_allclose(made["run"].marginals[3, 1:], 1 / 3)
        case "engines.md":
            assert made["run"].converged.all()
            assert made["run"].std_error.max() <= 0.02
        case "labels.md":  # the planted error
            planted = np.flatnonzero(made["y"] == "barolo")[0]
            assert planted in [one.point for one in made["suspects"](made["doubted"])]


@pytest.fixture
def users_table(tmp_path):
    """The table that the first page speaks of."""
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    rows = [
        f"{rng.normal(5 * kind):.3f},{rng.normal():.3f},{'abc'[kind] if i < 9 else ''}"
        for i, kind in enumerate(kinds)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["width,length,species", *rows]) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES)
def test_snippets_run(guide, users_table):
    check(guide, run_page(guide, users_table), users_table)


def test_there_are_the_guides_and_their_links_lead_somewhere():
    texts = {page: (DOCS / page).read_text(encoding="utf-8") for page in PAGES}
    headings = {text.splitlines()[0].removeprefix("# ") for text in texts.values()}
    assert set(TOLD) <= headings
    assert set(WITHOUT_CODE) <= set(PAGES)
    made = "auto_gallery/"  # by Sphinx, from docs/gallery
    for page, text in texts.items():
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            source = DOCS / target
            if target.startswith(made):
                source = DOCS / "gallery" / Path(target).with_suffix(".py").name
            reached = source.exists() or target in INCLUDED
            assert target.startswith("http") or reached, f"{page}: {target}"


def test_every_table_of_the_benchmarks_names_its_command():
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    sections = text.split("\n## ")[1:]
    for section in sections:
        if "\n|" in section:
            assert re.search(r"`(python benchmarks/\w+\.py|make )", section), section.split("\n")[0]
    for script in re.findall(r"benchmarks/(\w+\.py)", text):
        assert (DOCS.parent / "benchmarks" / script).exists(), script
