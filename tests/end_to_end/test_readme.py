"""The README: its snippet runs and says what it says, and it stays a screen and a half."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.tool import worked

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_snippet_says_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a file
    (snippet,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    found: dict = {}
    exec(compile(snippet, "README.md", "exec"), found)
    clf, toy = found["clf"], found["toy"]
    assert clf.temperature_ == pytest.approx(0.7)
    assert np.sum(clf.transduction_ != toy.truth) == 8
    assert (tmp_path / "report.html").exists()
    assert np.sum(clf.decide(0.0).calls != toy.truth) == 677


@pytest.mark.slow
def test_the_command_leaves_what_it_says(tmp_path):
    (line,) = re.findall(r"^spinlearn (fit .*)$", TEXT, re.MULTILINE)
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(4 * (i % 2)):.3f},{rng.normal():.3f},{'ab'[i % 2] if i < 6 else ''}"
            for i in range(60)]  # fmt: skip
    (tmp_path / "table.csv").write_text("\n".join(["x,y,species", *rows]) + "\n")
    worked(*line.split(), cwd=tmp_path)
    for name in ("labels.csv", "report.html"):
        assert (tmp_path / "answer" / name).exists()


def test_it_is_a_screen_and_a_half_and_its_links_lead_somewhere():
    assert len(TEXT.splitlines()) <= 80
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("http") or (README.parent / target).exists(), target


def test_the_two_commands_are_there():
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for name in ("demo", "test"):
        assert re.search(rf"^make {name}\b", TEXT, re.MULTILINE)
        assert re.search(rf"^{name}:", makefile, re.MULTILINE)


def test_its_table_is_that_of_the_benchmarks_page():
    page = (README.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| (?:1|3|10) \|.*$", TEXT, re.MULTILINE):
        numbers = re.findall(r"\d+\.\d", row)
        assert len(numbers) == 6
        labels = row.split("|")[1].strip()
        (there,) = re.findall(rf"^\| {labels} \| \*\*.*$", page, re.MULTILINE)
        assert set(numbers) <= set(re.findall(r"\d+\.\d", there))
