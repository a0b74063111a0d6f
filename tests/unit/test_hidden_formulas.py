"""Formulas behind blanks, tabs and line ends: disarmed in tables, and joined back by id."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.answers.spreadsheet import plain_name, safe_name
from spinlearn.io.result import Result
from tests.conftest import grid_graph

HIDDEN = ["\t=1+1", "\r=2", "\n=3+4", " =5", "  +B cells", "\t\t@SUM(A1)", "' =x", " \r\n-like"]
HARMLESS = ["-5", " -5", "\t+3.5", "\ta", " ", " =", " '=x", "a =b", "'\ta"]
ENDS = r"^'(?='*[\x00-\x20]*[=+\-@][\s\S])"  # as docs/your-files.md says
NAMES = st.text(alphabet="'=+-@a1.\t\r\n ", max_size=6)


@pytest.mark.parametrize("name", HIDDEN)
def test_formulas_behind_blanks_are_marked_as_text(name):
    assert safe_name(name) == f"'{name}"


@pytest.mark.parametrize("name", HARMLESS)
def test_numbers_and_other_names_stay(name):
    assert safe_name(name) == name


@given(NAMES)
def test_every_name_comes_back(name):
    written = safe_name(name)
    assert plain_name(written) == name
    assert re.sub(ENDS, "", written) == name


@given(NAMES)
def test_without_its_blanks_what_is_written_is_no_formula(name):
    bare = safe_name(name).strip()
    number = bare.lstrip("+-")[:1].isdigit() or bare.lstrip("+-")[:1] == "."
    assert len(bare) < 2 or bare[0] not in "=@+-" or number


def test_a_table_with_such_ids_joins_back():
    labels = [0, *[-1] * 7, 1]
    ids = [*HIDDEN, "-5"]
    fitted = PottsClassifier(method="paper", temperature=TemperatureRule(grid=[0.5])).fit(
        grid_graph(3, 3), labels
    )
    text = Result.of(fitted, ids).table(ids).csv()
    answer = pd.read_csv(io.StringIO(text), dtype={"id": str})
    assert not np.any(answer.id.str.strip().str.match(r"[=+\-@]\D"))
    assert answer.id.str.replace(ENDS, "", regex=True).tolist() == ids


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_page_writes_the_same_names():
    names = [*HIDDEN, *HARMLESS, "=1+2", "'=x", "-1e-3"]
    script = files("spinlearn").joinpath("viz/page/table.js").read_text(encoding="utf-8")
    script += f"\nconsole.log(JSON.stringify({json.dumps(names)}.map(safeName)));"
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [safe_name(name) for name in names]
