"""`spinlearn compare`: one table, readable in a narrow window, the same in a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

from tests.end_to_end.tool import read_rows, worked


def test_every_method_is_named_in_full_and_counted_right(tmp_path):
    X, truth = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)
    names = np.array(["left", "right"])[truth]
    frame = pd.DataFrame({"truth": names, "label": "?", "x": X[:, 0], "y": X[:, 1]})
    for c in ("left", "right"):
        frame.loc[np.flatnonzero(names == c)[:2], "label"] = c
    frame.to_csv(tmp_path / "data.csv", index=False)
    methods = ("alpha_beta_swap", "randomized_min_cut", "lgc", "ncut")
    done = worked(
        "compare", "data.csv", "--labels", "label", "--unlabelled", "?", "--truth", "truth",
        "--out", "table.csv",
        *[part for name in methods for part in ("--method", name)], cwd=tmp_path,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert "\u2026" not in done.stdout  # nothing is cut off
    assert max(map(len, lines)) <= 80
    for name in ("sampled min_cut", "minimised min_cut", *methods):
        (line,) = [k for k in lines if k.startswith(f" {name} ")]
        row = next(
            r for r in read_rows(tmp_path / "table.csv")
            if f"{r['method']} {r['energy']}".strip() == name
        )  # fmt: skip
        cells = line.removeprefix(f" {name} ").split()
        assert row["errors"] in cells
    rows = {r["method"]: r for r in read_rows(tmp_path / "table.csv")}
    assert rows["lgc"]["errors"] == "0"
    assert rows["alpha_beta_swap"]["errors"] == "0"


def test_odd_names_of_classes_are_told(tmp_path):
    labels = ["ash", "Ash", "unknown", *[""] * 5]
    pd.DataFrame({"label": labels, "x": range(8)}).to_csv(tmp_path / "data.csv", index=False)
    done = worked("compare", "data.csv", "--labels", "label", "--method", "lgc", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "the classes 'Ash' and 'ash' are the same but for case" in said
    assert "--unlabelled 'unknown'" in said
