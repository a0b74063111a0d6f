"""Sparse matrices of files whose places are wrong end in a line, not in a crash."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset

N = 12
RING = sparse.csr_array(np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1))
LABELS = "id,kind\n{},a\n{},b\n"


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
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_places_outside_a_stored_graph_are_refused(tmp_path, damage):
    name, change = DAMAGES[damage]
    sparse.save_npz(tmp_path / "s.npz", RING)
    arrays = dict(np.load(tmp_path / "s.npz"))
    np.savez(tmp_path / "s.npz", **arrays | {name: change(arrays[name])})
    (tmp_path / "l.csv").write_text(LABELS.format(1, N), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"s\.npz is not a sparse matrix"):
        read_dataset(tmp_path / "s.npz", ReadOptions(labels_file=tmp_path / "l.csv"))


@pytest.mark.parametrize("kind", ["<U3", "S3", "datetime64[s]", "V4", "complex128"])
def test_values_of_a_stored_graph_are_numbers(tmp_path, kind):
    values = np.zeros(RING.nnz, dtype=kind)
    np.savez(
        tmp_path / "s.npz", data=values, indices=RING.indices, indptr=RING.indptr, shape=RING.shape,
        format=b"csr",
    )  # fmt: skip
    (tmp_path / "l.csv").write_text(LABELS.format(1, N), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="no list of numbers"):
        read_dataset(tmp_path / "s.npz", ReadOptions(labels_file=tmp_path / "l.csv"))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("values", [np.float16, np.int8, bool])
def test_graphs_of_all_forms_and_numbers_are_read(tmp_path, kind, values):
    graph = RING.asformat(kind)
    places = ("row", "col") if kind == "coo" else ("indices", "indptr")
    np.savez(
        tmp_path / "s.npz", shape=graph.shape, format=kind.encode(),
        data=graph.data.astype(values), **{name: getattr(graph, name) for name in places},
    )  # fmt: skip
    (tmp_path / "l.csv").write_text(LABELS.format(1, N), encoding="utf-8")
    data = read_dataset(tmp_path / "s.npz", ReadOptions(labels_file=tmp_path / "l.csv"))
    np.testing.assert_array_equal(data.graph.edges, [(k, k + 1) for k in range(N - 1)])
    np.testing.assert_array_equal(data.graph.weights, np.ones(N - 1))


def cells(path) -> None:
    """An AnnData file with a graph, a sparse X and a sparse representation."""
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame({"kind": ["a", "b"] + [""] * (N - 2)}, index=[f"c{k}" for k in range(N)])
    adata = anndata.AnnData(sparse.csr_matrix(np.eye(N) + RING.toarray()), obs=obs)
    adata.obsm["X_pca"] = sparse.csr_matrix(np.eye(N, 4) + 1.0)
    adata.obsp["connectivities"] = sparse.csr_matrix(RING)
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    adata.write_h5ad(path)


@pytest.mark.parametrize("damage", list(DAMAGES)[::3])
@pytest.mark.parametrize(
    ("where", "features"),
    [("obsp/connectivities", ()), ("X", ("X",)), ("obsm/X_pca", ("X_pca",))],
)
def test_places_outside_a_matrix_of_cells_are_refused(tmp_path, damage, where, features):
    h5py = pytest.importorskip("h5py")
    name, change = DAMAGES[damage]
    path = tmp_path / "g.h5ad"
    cells(path)
    with h5py.File(path, "r+") as file:
        part = file[where]
        values = change(part[name][()])
        del part[name]
        part[name] = values
    with pytest.raises(InvalidInputError, match=r"g\.h5ad"):
        read_dataset(path, ReadOptions(labels="kind", features=features))


def test_a_representation_does_not_claim_more_than_it_holds(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "g.h5ad"
    cells(path)
    with h5py.File(path, "r+") as file:
        file["obsm/X_pca"].attrs["shape"] = [N, 10**7]
    with pytest.raises(InvalidInputError, match="claims 120000000 numbers, of which 48 are stored"):
        read_dataset(path, ReadOptions(labels="kind", features=("X_pca",)))


def test_undamaged_cells_are_read(tmp_path):
    cells(tmp_path / "g.h5ad")
    data = read_dataset(tmp_path / "g.h5ad", ReadOptions(labels="kind"))
    assert data.graph.n_nodes == N
    for name, width in (("X", N), ("X_pca", 4)):
        data = read_dataset(tmp_path / "g.h5ad", ReadOptions(labels="kind", features=(name,)))
        assert data.points.shape == (N, width)
