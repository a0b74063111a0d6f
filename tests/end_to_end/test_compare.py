"""`spinlearn compare`: one table, readable in a narrow window, the same in a file."""

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

from tests.conftest import few_labels
from tests.end_to_end.tool import read_rows, worked


def test_every_method_is_named_in_full_and_counted_right(tmp_path):
    X, truth = make_blobs(60, centers=[[0, 0], [9, 0]], random_state=0)
    names = np.array(["left", "right"])[truth]
    label = np.where(few_labels(truth, 2) < 0, "?", names)
    frame = pd.DataFrame({"truth": names, "label": label, "x": X[:, 0], "y": X[:, 1]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    methods = ("alpha_beta_swap", "randomized_min_cut", "lgc", "ncut")
    done = worked(
        "compare", "data.csv", "--labels", "label", "--unlabelled", "?", "--truth", "truth",
        "--out", "table.csv",
        *[part for name in methods for part in ("--method", name)], cwd=tmp_path,
    )  # fmt: skip
    lines, rows = done.stdout.splitlines(), read_rows(tmp_path / "table.csv")
    errors = {f"{r['method']} {r['energy']}".strip(): r["errors"] for r in rows}
    assert "\u2026" not in done.stdout  # nothing is cut off
    assert max(map(len, lines)) <= 80
    for name in ("sampled min_cut", "minimised min_cut", *methods):
        (line,) = [k for k in lines if k.startswith(f" {name} ")]
        assert errors[name] in line.removeprefix(f" {name} ").split()
    assert errors["lgc"] == errors["alpha_beta_swap"] == "0"


def test_odd_names_of_classes_are_told(tmp_path):
    labels = ["ash", "Ash", "unknown", *[""] * 5]
    pd.DataFrame({"label": labels, "x": range(8)}).to_csv(tmp_path / "data.csv", index=False)
    done = worked("compare", "data.csv", "--labels", "label", "--method", "lgc", cwd=tmp_path)
    said = " ".join(done.stderr.split())
    assert "the classes 'Ash' and 'ash' are the same but for case" in said
    assert "--unlabelled 'unknown'" in said
