"""Matrix Market files: malformed lines are refused by number before any library reads them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.graph_file import read_matrix_market
from spinlearn.io.reading import read_dataset

HEAD = "%%MatrixMarket matrix coordinate {field} {symmetry}\n"
REAL = HEAD.format(field="real", symmetry="symmetric")


def graph_of(tmp_path, content: str):
    (tmp_path / "g.mtx").write_text(content, encoding="utf-8", newline="")
    return read_matrix_market(tmp_path / "g.mtx")


def edges_of(read) -> set[tuple[int, int, float]]:
    pairs = zip(read.graph.edges.tolist(), read.graph.weights.tolist(), strict=True)
    return {(u + 1, v + 1, w) for (u, v), w in pairs}


def refused(tmp_path, content: str) -> str:
    with pytest.raises(InvalidInputError, match=r"g\.mtx") as caught:
        graph_of(tmp_path, content)
    return str(caught.value)


MALFORMED = ["3.5E-", "1e+", "-", "+.", "1_0", "0x1", "1,5", "nan", "inf", "1.0D0", "1e999"]
PLACE = "which is not an entry of a matrix of 3 by 3"
ARRAY = "%%MatrixMarket matrix array real general\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *[
            (f"{REAL}% a remark\n3 3 2\n2 1 1.5\n3 2 {number}{end}", f"'3 2 {number}' in line 5")
            for number, end in zip(MALFORMED, 6 * ["", "\n"], strict=False)
        ],
        *[
            (f"{REAL}3 3 2\n2 1 1.5\n{line}\n", f"'{line}' in line 4")
            for line in ("3 2", "3 2 1 1", "3 x 1", "-3 2 1", "% late")
        ],
        (f"{REAL}3 3 2\n2 1 1.5\n4 1 1.0\n", f"'4 1 1.0' in line 4, {PLACE}"),
        *[
            (f"{REAL}3 3 2\n2 1 1.5\n{line}\n", "in line 4")
            for line in ("3 99999999999999 1", "\x00", "0 1 1.0", "1.5 1 1.0")
        ],
        (f"{REAL}3 3\n2 1 1.5\n3 2 1\n", "no size in line 2"),
        (f"{REAL}3 3 x\n2 1 1.5\n3 2 1\n", "no size in line 2"),
        (f"{REAL}3 3 3\n2 1 1.5\n3 2 1\n", "holds 2 entries, but its size line claims 3"),
        (f"{REAL}3 3 1\n2 1 1.5\n3 2 1\n", "holds 2 entries, but its size line claims 1"),
        (f"{REAL}3 4 2\n2 1 1.5\n3 2 1\n", "4"),
        (f"{REAL}9 9 999999999\n2 1 1\n", "more than the file can hold"),
        *[
            (f"%%MatrixMarket {first}\n3 3 1\n2 1 1\n", "is not a graph")
            for first in ("matrix coordinate complex general", "vector", "", "matrix")
        ],
        # SciPy's reader ends the process by a division by zero.
        *[
            (f"{ARRAY}{size}\n", "holds no node: its size in line 2 is 0")
            for size in ("0 0", "0 3", "3 0")
        ],
    ],
)
def test_malformed_files_are_refused_by_line(tmp_path, content, said):
    assert said in refused(tmp_path, content)


@pytest.mark.parametrize("number", ["1", "+1.", "1.0e0", "10E-1", "001"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", " \n\n"])
def test_numbers_as_they_are_written_are_read(tmp_path, number, end):
    read = graph_of(tmp_path, f"{REAL}%\n\n3 3 2\n2 1 0.5\n 3\t2  {number}{end}")
    assert edges_of(read) == {(1, 2, 0.5), (2, 3, 1.0)}


@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
@pytest.mark.parametrize("entries", ["1 2 0.5\n2 3 1\n", "2 1 0.5\n3 2 1\n"])
def test_one_triangle_is_read_as_both(tmp_path, symmetry, entries):
    head = HEAD.format(field="real", symmetry=symmetry)
    read = graph_of(tmp_path, f"{head}3 3 2\n{entries}")
    assert edges_of(read) == {(1, 2, 0.5), (2, 3, 1.0)}
    said = "triangle alone: they are taken as symmetric" in "".join(read.notes)
    assert said == (symmetry == "general")


def test_the_note_on_a_triangle_reaches_the_user(tmp_path):
    head = HEAD.format(field="pattern", symmetry="general")
    (tmp_path / "g.mtx").write_text(f"{head}3 3 2\n1 2\n2 3\n", encoding="utf-8")
    (tmp_path / "k.csv").write_text("id,kind\n1,x\n3,y\n", encoding="utf-8")
    data = read_dataset(tmp_path / "g.mtx", ReadOptions(labels_file=tmp_path / "k.csv"))
    assert "entries stand in the upper triangle alone: they are taken as symmetric" in data.notes


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "AUTO"])
@pytest.mark.parametrize(
    ("field", "dense"),
    [("real", False), ("integer", False), ("pattern", False), ("real", True), ("integer", True)],
)
def test_what_scipy_writes_is_read(tmp_path, symmetry, field, dense):
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 3, (40, 40)) * (rng.random((40, 40)) < 0.2)
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    if field == "pattern":
        matrix = (matrix > 0).astype(float)
    written = matrix if dense else sparse.coo_array(matrix)
    mmwrite(tmp_path / "g.mtx", written, field=field, symmetry=symmetry)
    found = read_matrix_market(tmp_path / "g.mtx").graph
    u, v = np.nonzero(np.triu(matrix))
    np.testing.assert_array_equal(found.edges, np.column_stack([u, v]))
    np.testing.assert_array_equal(found.weights, matrix[u, v])


def test_a_long_comment_is_no_size(tmp_path):
    """Cut where it fills a block, its end would be read as the size, and the true one by SciPy."""
    comment = "%" + "x" * 65535 + "3 3 1\n"
    assert edges_of(graph_of(tmp_path, f"{REAL}{comment}2 2 1\n2 1 4\n")) == {(1, 2, 4.0)}
    said = refused(tmp_path, f"{REAL}{comment}999999999 999999999 1\n2 1 1\n")
    assert "claims 999999999 nodes but 1 edges" in said
