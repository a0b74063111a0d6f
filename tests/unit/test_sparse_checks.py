"""Malformed matrices in files end in a line that says where, before any library reads them."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from spinlearn.errors import InvalidInputError
from spinlearn.io import anndata_file
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset

N = 12
RING = sparse.csr_array(np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1))
REAL = "%%MatrixMarket matrix coordinate real symmetric\n"
ARRAY = "%%MatrixMarket matrix array real general\n"


def graph_of(path, content: str | None = None):
    if content is not None:
        path.write_text(content, encoding="utf-8", newline="")
    return read_dataset(path, ReadOptions(for_labelling=True))


def edges_of(data) -> set[tuple[int, int, float]]:
    pairs = zip(data.graph.edges.tolist(), data.graph.weights.tolist(), strict=True)
    return {(u + 1, v + 1, w) for (u, v), w in pairs}


NUMBERS = ["3.5E-", "1e+", "-", "+.", "1_0", "0x1", "1,5", "nan", "inf", "1.0D0", "1e999"]
MALFORMED = [
    *[(f"{REAL}% a remark\n3 3 2\n2 1 1.5\n3 2 {n}", f"'3 2 {n}' in line 5") for n in NUMBERS],
    *[
        (f"{REAL}3 3 2\n2 1 1.5\n{line}\n", f"'{line}' in line 4")
        for line in ("3 2", "3 2 1 1", "3 x 1", "-3 2 1", "% late", "0 1 1.0", "1.5 1 1.0")
    ],
    (f"{REAL}3 3 2\n2 1 1.5\n4 1 1.0\n", "in line 4, which is not an entry of a matrix of 3 by 3"),
    (f"{REAL}3 3 2\n2 1 1.5\n3 99999999999999 1\n", "in line 4"),
    (f"{REAL}3 3 2\n2 1 1.5\n\x00\n", "in line 4"),
    *[(f"{REAL}3 3{more}\n2 1 1.5\n3 2 1\n", "no size in line 2") for more in ("", " x")],
    *[
        (f"{REAL}3 3 {n}\n2 1 1.5\n3 2 1\n", f"holds 2 entries, but its size line claims {n}")
        for n in (1, 3)
    ],
    (f"{REAL}3 4 2\n2 1 1.5\n3 2 1\n", "4"),
    (f"{REAL}9 9 999999999\n2 1 1\n", "more than the file can hold"),
    *[
        (f"%%MatrixMarket {first}\n3 3 1\n2 1 1\n", "is not a graph")
        for first in ("matrix coordinate complex general", "vector", "", "matrix")
    ],
    # SciPy's reader ends the process by a division by zero.
    *[(f"{ARRAY}{size}\n", "holds no node: its size in line 2") for size in ("0 0", "0 3", "3 0")],
    # Cut where it fills a block, its end would be read as the size, and the true one by SciPy.
    (f"{REAL}%{65535 * 'x'}3 3 1\n999999999 999999999 1\n2 1 1\n", "999999999 nodes but 1 edges"),
]


@pytest.mark.parametrize(("content", "said"), MALFORMED)
def test_malformed_files_are_refused_by_line(tmp_path, content, said):
    with pytest.raises(InvalidInputError, match=r"g\.mtx") as caught:
        graph_of(tmp_path / "g.mtx", content)
    assert said in str(caught.value)


def test_numbers_as_they_are_written_are_read(tmp_path):
    for number, end in product(["1", "+1.", "1.0e0", "10E-1", "001"], ["", "\r\n", " \n\n"]):
        data = graph_of(tmp_path / "g.mtx", f"{REAL}%\n\n3 3 2\n2 1 0.5\n 3\t2  {number}{end}")
        assert edges_of(data) == {(1, 2, 0.5), (2, 3, 1.0)}


@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
@pytest.mark.parametrize("entries", ["1 2 0.5\n2 3 1\n", "2 1 0.5\n3 2 1\n"])
def test_one_triangle_is_read_as_both(tmp_path, symmetry, entries):
    head = REAL.replace("symmetric", symmetry)
    data = graph_of(tmp_path / "g.mtx", f"{head}3 3 2\n{entries}")
    assert edges_of(data) == {(1, 2, 0.5), (2, 3, 1.0)}
    said = "triangle alone: they are taken as symmetric" in "".join(data.notes)
    assert said == (symmetry == "general")


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
    graph = graph_of(tmp_path / "g.mtx").graph
    u, v = np.nonzero(np.triu(matrix))
    np.testing.assert_array_equal(graph.edges, np.column_stack([u, v]))
    np.testing.assert_array_equal(graph.weights, matrix[u, v])


def changed(array, place, value):
    copy = np.array(array)
    copy[place] = value
    return copy


DAMAGES = {
    "the last row begins at 0": ("indptr", lambda a: changed(a, -1, 0)),
    "the last row begins before all": ("indptr", lambda a: changed(a, -1, -1)),
    "a row begins far away": ("indptr", lambda a: changed(a, 5, 10**9)),
    "rows begin out of order": ("indptr", lambda a: changed(a, 5, a[4] - 1)),
    "the first row begins late": ("indptr", lambda a: changed(a, 0, 1)),
    "a row is missing": ("indptr", lambda a: a[:-1]),
    "a place is far away": ("indices", lambda a: changed(a, 3, 10**6)),
    "a place is one too far": ("indices", lambda a: changed(a, 3, N)),
    "a place is negative": ("indices", lambda a: changed(a, 3, -5)),
    "values are missing": ("data", lambda a: a[:-2]),
    **{
        f"values are {kind}": ("data", lambda a, kind=kind: np.zeros(len(a), kind))
        for kind in ("<U3", "S3", "datetime64[s]", "V4", "complex128")
    },
}


def stored(graph, **more) -> dict:
    """The arrays of a sparse matrix, as SciPy stores them."""
    places = ("row", "col") if graph.format == "coo" else ("indices", "indptr")
    arrays = {name: getattr(graph, name) for name in ("data", "shape", *places)}
    return arrays | {"format": graph.format.encode()} | more


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_stored_graph_is_refused(tmp_path, damage):
    name, change = DAMAGES[damage]
    arrays = stored(RING)
    np.savez(tmp_path / "s.npz", **arrays | {name: change(arrays[name])})
    with pytest.raises(InvalidInputError, match=r"s\.npz is not a sparse matrix"):
        graph_of(tmp_path / "s.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("values", [np.float16, np.int8, bool])
def test_graphs_of_all_forms_and_numbers_are_read(tmp_path, kind, values):
    graph = RING.asformat(kind)
    np.savez(tmp_path / "s.npz", **stored(graph, data=graph.data.astype(values)))
    assert edges_of(graph_of(tmp_path / "s.npz")) == {(k, k + 1, 1.0) for k in range(1, N)}


@pytest.fixture
def cells(tmp_path):
    """An AnnData file with a graph, a sparse X and a sparse representation."""
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(sparse.csr_matrix(np.eye(N) + RING.toarray()))
    adata.obsm["X_pca"] = sparse.csr_matrix(np.eye(N, 4) + 1.0)
    adata.obsp["connectivities"] = sparse.csr_matrix(RING)
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    adata.write_h5ad(tmp_path / "g.h5ad")
    return tmp_path / "g.h5ad"


@pytest.mark.parametrize("damage", list(DAMAGES)[:10:3])
@pytest.mark.parametrize(
    ("where", "features"),
    [("obsp/connectivities", ()), ("X", ("X",)), ("obsm/X_pca", ("X_pca",))],
)
def test_places_outside_a_matrix_of_cells_are_refused(cells, damage, where, features):
    h5py = pytest.importorskip("h5py")
    name, change = DAMAGES[damage]
    options = ReadOptions(features=features, for_labelling=True)
    assert len(read_dataset(cells, options).ids) == N  # undamaged
    with h5py.File(cells, "r+") as file:
        values = change(file[where][name][()])
        del file[where][name]
        file[where][name] = values
    with pytest.raises(InvalidInputError, match=r"g\.h5ad"):
        read_dataset(cells, options)


def test_a_representation_does_not_claim_more_than_it_holds(cells):
    h5py = pytest.importorskip("h5py")
    with h5py.File(cells, "r+") as file:
        file["obsm/X_pca"].attrs["shape"] = [N, 10**7]
    with pytest.raises(InvalidInputError, match="claims 120000000 numbers, of which 48 are stored"):
        read_dataset(cells, ReadOptions(features=("X_pca",), for_labelling=True))


@pytest.mark.slow
def test_a_file_that_comes_to_no_end_is_refused_but_not_one_that_waits(tmp_path, monkeypatch):
    """A busy machine damages no file."""
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"")
    monkeypatch.setattr(anndata_file, "MOST_SECONDS", 1)  # of the processor
    monkeypatch.setattr(anndata_file, "SLOWEST", 600)  # to start takes long on a busy machine
    bounds = anndata_file.PROBE.partition("def read")[0]
    monkeypatch.setattr(anndata_file, "PROBE", bounds + "import time; time.sleep(2)")
    anndata_file._check_hdf5_ends(path)
    monkeypatch.setattr(anndata_file, "PROBE", bounds + "while True: pass")
    with pytest.raises(InvalidInputError, match="does not finish"):
        anndata_file._check_hdf5_ends(path)
