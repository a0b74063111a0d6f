"""Reading files: what becomes a feature, a label, an id, an edge, and what is refused."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite

from spinlearn.answers.labels import clean_labels
from spinlearn.errors import InvalidInputError
from spinlearn.graphs import make_builder
from spinlearn.io.dataset import ReadOptions, prepared
from spinlearn.io.reading import read_dataset
from spinlearn.settings import read_grid

FRAME = pd.DataFrame(
    {
        "name": [f"p{k}" for k in range(6)],
        "lab": [0.0, 1.0, -1.0, np.nan, 1.0, 0.0],
        "a": np.arange(6.0),
        "b": np.arange(6.0)[::-1] / 2,
    }
)
EDGES = "a\tb\nb\tc\nc\td\n"


def write(frame: pd.DataFrame, path) -> None:
    """A frame with its index, as pandas writes it."""
    if path.suffix == ".csv":
        frame.to_csv(path)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)


def read(path, content: str | None = None, **options):
    """A file, written first if there is something to write."""
    if content is not None:
        path.write_text(content)
    return read_dataset(path, ReadOptions(**options))


def refused(path, content: str | None = None, **options) -> str:
    """What is said instead of reading; it names the file."""
    with pytest.raises(InvalidInputError) as caught:
        read(path, content, **options)
    assert path.name in str(caught.value)
    return str(caught.value)


def read_graph(folder, content: str, name: str = "g.edges", **options):
    """A graph and the labels of its first and last node."""
    (folder / "labels.csv").write_text("id,kind\na,left\nd,right\n")
    return read(folder / name, content, labels_file=folder / "labels.csv", **options)


def edges_of(data) -> set[tuple[str, str, float]]:
    """Edges by ids, with weights."""
    pairs = zip(data.graph.edges.tolist(), data.graph.weights.tolist(), strict=True)
    return {(data.ids[u], data.ids[v], w) for (u, v), w in pairs}


# -- columns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "index", "column"),
    [("csv", None, ""), ("parquet", None, "__index_level_0__"), ("parquet", "key", "key")],
)
def test_pandas_index_is_no_feature_but_may_be_the_ids(tmp_path, kind, index, column):
    path = tmp_path / f"d.{kind}"
    write(FRAME.drop(index=[3]).rename_axis(index), path)
    data = read(path, labels="lab", id="name")
    assert data.feature_names == ["a", "b"]
    assert f"left out {column!r}: it names the rows, as pandas writes its index" in data.notes
    assert "2 features: a, b" in data.notes
    assert read(path, labels="lab", id=column).ids == ["0", "1", "2", "4", "5"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_index_that_was_written_twice_is_no_feature(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    write(FRAME.assign(**{"Unnamed: 0": [0, 1, 2, 4, 5, 9]}), path)
    assert read(path, labels="lab").feature_names == ["a", "b"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_truth_values_are_features(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    write(FRAME.assign(flag=[True, False, True, True, False, False]), path)
    data = read(path, labels="lab")
    assert data.feature_names == ["a", "b", "flag"]
    assert data.points[:, 2].tolist() == [1, 0, 1, 1, 0, 0]


def test_truth_values_among_numbers_are_text(tmp_path):
    content = "lab,a,b\nA,1,0\n,2,True\n"
    assert "'True' in line 3" in refused(tmp_path / "d.csv", content, labels="lab")


@pytest.mark.parametrize("cell", ["1,5", "1,000", "1,000,000.5"])
def test_commas_in_numbers_may_mean_two_things(tmp_path, cell):
    said = refused(tmp_path / "d.csv", f'lab,a\nA,1\n,"{cell}"\n', labels="lab")
    assert "decimal points" in said
    assert "thousands" in said


@pytest.mark.parametrize("length", [2, "any"])
def test_a_column_of_lists_is_no_feature(tmp_path, length):
    path = tmp_path / "d.parquet"
    lists = [[1.0] * (k if length == "any" else length) for k in range(6)]
    write(FRAME.assign(lists=lists), path)
    data = read(path, labels="lab")
    assert data.feature_names == ["a", "b"]
    assert "left out 'lists': neither numbers nor words" in data.notes
    assert "'lists'" in refused(path, labels="lab", features=("lists",))


def test_twin_columns_of_parquet_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["lab", "a", "a"])
    parquet.write_table(table, tmp_path / "d.parquet")
    assert "twice, for example 'a'" in refused(tmp_path / "d.parquet", labels="lab")


def test_comments_before_a_heading_are_skipped(tmp_path):
    content = "# made today, by hand\n#\nlab,a\nA,1\n,2\n"
    data = read(tmp_path / "d.csv", content, labels="lab")
    assert data.points[:, 0].tolist() == [1, 2]
    assert "skipped 2 lines of comments before the heading" in data.notes


def test_a_heading_may_begin_like_a_comment(tmp_path):
    content = "#key,lab,a\nx,A,1\ny,,2\n"
    assert read(tmp_path / "d.csv", content, labels="lab", id="#key").ids == ["x", "y"]
    labels = tmp_path / "labels.csv"
    labels.write_text('lab\nA\n""\n')
    data = read(tmp_path / "d.csv", "#a,b\n1,2\n3,4\n", labels_file=labels)
    assert data.feature_names == ["#a", "b"]


def test_names_of_features_may_hold_commas(tmp_path):
    content = 'lab,a,"b,c",c\nA,1,2,3\n,4,5,6\n'
    path = tmp_path / "d.csv"
    for features, used in (
        (("a,c",), ["a", "c"]),
        (("b,c",), ["b,c"]),
        (("a", "b,c"), ["a", "b,c"]),
        (("a, c", "b,c"), ["a", "c", "b,c"]),
    ):
        assert read(path, content, labels="lab", features=features).feature_names == used
    assert "no column 'd'" in refused(path, labels="lab", features=("a,d",))


def test_a_named_feature_without_any_value_is_refused(tmp_path):
    content = "lab,a,b\nA,1,\n,2,\n"
    assert read(tmp_path / "d.csv", content, labels="lab").feature_names == ["a"]
    assert "lacks 2" in refused(tmp_path / "d.csv", labels="lab", features=("a,b",))


def test_huge_features_are_named_before_they_overflow():
    points = np.array([[1.0, 1e308], [2.0, -1e308]])
    for how in ({"scale": "standard"}, {"top_variance": 1}, {}):
        with pytest.raises(InvalidInputError, match="'b' holds values up to 1e\\+308"):
            prepared(points, ["a", "b"], **how)


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["0.0", "1.0", "-1.0", ""], [0, 1, None, None]),
        ([0.0, 1.0, -1.0, np.nan], [0, 1, None, None]),
        (["1", "1.0", "2", "2.0"], [1, 1, 2, 2]),
        (["01", "1.0", "2", "-1"], ["01", "1.0", "2", None]),
        (["1.5", "1.0"], ["1.5", "1.0"]),
        ([1.5, 1.0], ["1.5", "1.0"]),
        (["1e3", "7"], ["1e3", "7"]),
        ([b"A", b""], ["A", None]),
    ],
)
def test_labels_are_whole_numbers_if_all_are(cells, labels):
    assert clean_labels(cells).tolist() == labels


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_are_the_same_from_all_kinds_of_tables(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    write(FRAME, path)
    assert read(path, labels="lab").labels.tolist() == [0, 1, None, None, 1, 0]


def test_values_may_be_declared_to_mean_no_label():
    assert clean_labels(["?", "1", "2.0"], ("?",)).tolist() == [None, 1, 2]
    assert clean_labels(["0.0", "1.0"], ("0",)).tolist() == [None, 1]
    assert clean_labels(["A", "unknown"], ("unknown",)).tolist() == ["A", None]


def test_an_infinite_label_is_refused(tmp_path):
    write(FRAME.assign(lab=[0, 1, np.inf, 1, 0, 0]), tmp_path / "d.parquet")
    assert "label in row 3 is infinite" in refused(tmp_path / "d.parquet", labels="lab")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("k.csv", "id,kind\na,x\nd,y\n"),
        ("k.csv", "id;kind\na;x\nd;y\n"),
        ("k.txt", "id,kind\na,x\nd,y\n"),
        ("k.csv", "id\tkind\na\tx\nd\ty\n"),
        ("k.csv", "id kind\na x\nd y\n"),
    ],
)
def test_a_labels_file_shows_its_own_delimiter(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    data = read(
        tmp_path / "g.edges", EDGES.replace("\t", " "), delimiter=" ", labels="kind",
        labels_file=tmp_path / name,
    )  # fmt: skip
    assert data.labels.tolist() == ["x", None, None, "y"]


def test_labels_may_be_in_a_parquet_table(tmp_path):
    write(pd.DataFrame({"id": ["a", "d"], "kind": ["x", "y"]}), tmp_path / "k.parquet")
    data = read(tmp_path / "g.edges", EDGES, labels="kind", labels_file=tmp_path / "k.parquet")
    assert data.labels.tolist() == ["x", None, None, "y"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_pandas_index_beside_labels_is_neither_label_nor_id(tmp_path, kind):
    path, content = tmp_path / f"k.{kind}", "a\n1\n2\n3\n4\n"
    frame = pd.DataFrame({"key": ["2", "4"], "kind": ["x", "y"]}, index=[1, 3])
    write(frame, path)
    data = read(tmp_path / "d.csv", content, labels_file=path)
    assert data.labels.tolist() == [None, "x", None, "y"]
    write(frame[["kind"]], path)
    with pytest.raises(InvalidInputError, match="counts from 0"):
        read(tmp_path / "d.csv", content, labels_file=path)
    index = "" if kind == "csv" else "__index_level_0__"
    data = read(tmp_path / "d.csv", content, labels_file=path, id=index)
    assert data.labels.tolist() == ["x", None, "y", None]
    write(frame.set_index("key"), path)
    data = read(tmp_path / "d.csv", content, labels_file=path)
    assert data.labels.tolist() == [None, "x", None, "y"]


def test_other_labels_files_are_refused_for_what_they_are(tmp_path):
    np.savez(tmp_path / "k.npz", y=np.zeros(4))
    for name, words in (("k.npz", "labels are read from"), (".", "is a folder"), ("no", "exist")):
        with pytest.raises(InvalidInputError, match=words):
            read(tmp_path / "g.edges", EDGES, labels_file=tmp_path / name)


def test_an_annotation_table_may_list_more_points_than_there_are(tmp_path):
    labels = tmp_path / "k.csv"
    labels.write_text("id,kind\na,x\nd,y\ne,\n")
    data = read(tmp_path / "g.edges", EDGES, labels="kind", labels_file=labels)
    assert data.labels.tolist() == ["x", None, None, "y"]
    labels.write_text("id,kind\na,x\ne,y\n")
    with pytest.raises(InvalidInputError, match=r"labels 'e' in line 3, .* whose ids are 'a', "):
        read(tmp_path / "g.edges", EDGES, labels="kind", labels_file=labels)


def test_a_list_of_edges_that_is_read_as_a_table_is_recognised(tmp_path):
    labels = tmp_path / "k.csv"
    labels.write_text("id,kind\na,x\nb,y\n")
    content = "source\ttarget\tweight\na\tb\t1\nb\tc\t2\n"
    assert "--edges" in refused(tmp_path / "g.tsv", content, labels="kind", labels_file=labels)


# -- ids ---------------------------------------------------------------------------------------


def test_whole_numbers_that_pandas_wrote_with_a_point_are_the_same_ids(tmp_path):
    labels = tmp_path / "k.csv"
    labels.write_text("num,kind\n1.0,x\n3.0,y\n")
    content = "num,a\n1,1\n2,2\n3,3\n"
    data = read(tmp_path / "d.csv", content, labels="kind", labels_file=labels, id="num")
    assert data.labels.tolist() == ["x", None, "y"]


def test_ids_must_be_somewhere(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("key,kind\n1,x\n2,y\n")
    content = "name,a\np,1\nq,2\nr,3\n"
    path = tmp_path / "d.csv"
    assert read(path, content, labels_file=labels, id="key").ids == ["1", "2", "3"]
    assert "no column 'nope'" in refused(path, labels_file=labels, id="nope")
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=["A", "B", ""])
    assert "no column 'nope'" in refused(tmp_path / "d.npz", id="nope")
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        read_graph(tmp_path, EDGES, id="nope")


@pytest.mark.parametrize("cell", ["", "NA", "null"])
def test_missing_ids_are_refused(tmp_path, cell):
    content = f"name,lab,a\np,A,1\n{cell},B,2\n{cell},,3\n"
    assert "line 3" in refused(tmp_path / "d.csv", content, labels="lab", id="name")


# -- arrays ------------------------------------------------------------------------------------


def test_arrays_that_cannot_be_features_are_refused(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.eye(3), Z=np.eye(3), y=["A", "B", ""])
    assert "no array 'QQ'" in refused(path, features=("X,QQ",))
    assert "cannot be used together" in refused(path, features=("X", "Z"))
    assert read(path, features=("Z",)).feature_names == ["Z[0]", "Z[1]", "Z[2]"]
    np.savez(path, X=np.empty((3, 0)), y=["A", "B", ""])
    assert "no features" in refused(path)
    np.savez(path)
    assert "holds no array" in refused(path)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_scipy_are_graphs(tmp_path, form):
    matrix = sparse.coo_array(([1.0, 1.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    sparse.save_npz(tmp_path / "g.npz", matrix.asformat(form))
    (tmp_path / "labels.csv").write_text('kind\nA\nB\n""\n')
    data = read(tmp_path / "g.npz", labels_file=tmp_path / "labels.csv")
    assert edges_of(data) == {("1", "2", 1.0), ("2", "3", 2.0)}
    said = refused(tmp_path / "g.npz", labels_file=tmp_path / "labels.csv", features=("X",))
    assert "no features" in said


def test_a_sparse_matrix_alone_has_no_labels(tmp_path):
    sparse.save_npz(tmp_path / "g.npz", sparse.csr_array(np.eye(3)[::-1]))
    assert "--labels-file" in refused(tmp_path / "g.npz")


def test_other_forms_of_sparse_matrices_are_refused(tmp_path):
    sparse.save_npz(tmp_path / "g.npz", sparse.eye_array(3, format="dia"))
    assert "CSR, CSC or COO" in refused(tmp_path / "g.npz")


# -- AnnData -----------------------------------------------------------------------------------


@pytest.fixture
def cells(tmp_path):
    """An AnnData object, and how to write it."""
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.arange(12.0).reshape(4, 3))
    adata.obs_names = [f"c{k}" for k in range(4)]
    adata.obs["kind"] = ["A", "B", "", ""]
    adata.layers["counts"] = sparse.csr_matrix(np.ones((4, 3)))
    adata.obsm["X_pca"] = np.eye(4)
    return adata


def test_features_of_cells_are_x_obsm_or_a_layer(tmp_path, cells):
    path = tmp_path / "c.h5ad"
    cells.write_h5ad(path)
    for name, width in (("X", 3), ("counts", 3), ("X_pca", 4)):
        assert read(path, labels="kind", features=(name,)).points.shape == (4, width)
    assert "it has X, X_pca, counts" in refused(path, labels="kind", features=("X,QQ",))
    assert "cannot be used together" in refused(path, labels="kind", features=("X,counts",))


def test_cells_whose_names_repeat_are_numbered(tmp_path, cells):
    cells.obs_names = ["c", "c", "d", "e"]
    cells.write_h5ad(tmp_path / "c.h5ad")
    data = read(tmp_path / "c.h5ad", labels="kind")
    assert data.ids == ["1", "2", "3", "4"]
    assert "obs_names repeat: ids are row numbers" in data.notes


def test_parts_of_cells_that_are_no_features_are_refused(tmp_path, cells):
    cells.obsm["words"] = pd.DataFrame({"w": list("pqrs")}, index=cells.obs_names)
    cells.obsm["cube"] = np.ones((4, 2, 2))
    cells.obsm["nothing"] = np.ones((4, 0))
    path = tmp_path / "c.h5ad"
    cells.write_h5ad(path)
    for name, said in (("words", "numbers"), ("cube", "2-D"), ("nothing", "no features")):
        assert said in refused(path, labels="kind", features=(name,))


def test_a_dense_neighbour_graph_is_read(tmp_path, cells):
    cells.obsp["connectivities"] = np.ones((4, 4))
    cells.write_h5ad(tmp_path / "c.h5ad")
    assert read(tmp_path / "c.h5ad", labels="kind").graph.n_edges == 6


# -- graphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        EDGES,
        "source\ttarget\n" + EDGES,
        "NodeA\tNodeB\n" + EDGES,
        "SRC\tdst\n" + EDGES,
        "i\tj\n" + EDGES,
        "# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n" + EDGES,
        "% sym\n" + EDGES.replace("b\tc", "# half of it\nb\tc"),
        EDGES.replace("\t", " "),
        EDGES.replace("\t", " ").replace("\n", " {}\n"),
        "from\tto\tweight\n" + EDGES.replace("\n", "\t1\n"),
        "one\tother\tstrength\n" + EDGES.replace("\n", "\t1\n"),
        EDGES.replace("\n", "\t1\n"),
    ],
)
def test_lists_of_edges(tmp_path, content):
    data = read_graph(tmp_path, content)
    assert edges_of(data) == {("a", "b", 1.0), ("b", "c", 1.0), ("c", "d", 1.0)}
    assert data.labels.tolist() == ["left", None, None, "right"]


def test_an_edge_between_nodes_of_such_names_is_no_heading(tmp_path):
    data = read_graph(tmp_path, "u\tv\nv\ta\na\td\n")
    assert ("u", "v", 1.0) in edges_of(data)


@pytest.mark.parametrize("weight", ["1,5", "", "NA", "1.5x", "?", "1.2.3"])
def test_a_broken_weight_in_the_first_line_is_refused(tmp_path, weight):
    content = f"a\tb\t{weight}\nb\tc\t1\nc\td\t1\n"
    with pytest.raises(InvalidInputError, match="in line 1: weights are finite numbers"):
        read_graph(tmp_path, content)


def test_networkx_lists_of_edges(tmp_path):
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=1.5)
    graph.add_edge("b", "c", weight=np.float64(0.25))
    graph.add_edge("c", "d")
    nx.write_edgelist(graph, tmp_path / "nx.txt")
    data = read_graph(tmp_path, (tmp_path / "nx.txt").read_text())
    assert edges_of(data) == {("a", "b", 1.5), ("b", "c", 0.25), ("c", "d", 1.0)}


@pytest.mark.parametrize(
    "attributes",
    ["{'color': 'red'}", "{'weight': 1, 'x': 2}", "{'weight': __import__('os')}", "{'weight': }"],
)
def test_other_attributes_of_edges_are_refused(tmp_path, attributes):
    with pytest.raises(InvalidInputError, match=r"attributes .* in line 1"):
        read_graph(tmp_path, f"a b {attributes}\nb d {{}}\n")


@pytest.mark.parametrize("heading", ["source\ttarget\n", "one\tother\tstrength\n"])
def test_a_heading_alone_is_no_edge(tmp_path, heading):
    with pytest.raises(InvalidInputError, match="lists no edge"):
        read_graph(tmp_path, heading)


def test_a_quote_that_takes_in_the_rest_of_a_table_is_refused(tmp_path):
    rows = 'a,b,lab\n1,2,x\n2,3,"y\n' + "3,4,\n" * 9
    assert "the row that begins in line 3" in refused(tmp_path / "t.csv", rows, labels="lab")


def test_a_row_is_told_by_the_line_in_which_it_begins(tmp_path):
    rows = 'a,b,lab\n1,2,x\n"2\n\n",3\n'
    assert "2 cells in line 3" in refused(tmp_path / "t.csv", rows, labels="lab")


def test_a_line_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    import gzip

    from spinlearn.io import table

    monkeypatch.setattr(table, "LONGEST_LINE", 1 << 16)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a" * (1 << 20)))
    assert "a line of more than" in refused(path, labels="lab")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "undefined", "hex"])
def test_a_wrong_encoding_is_told(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("a,b,lab\n1,2,ö\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="encoding"):
        read(tmp_path / "t.csv", labels="lab", encoding=encoding)


def test_empty_rows_at_the_end_are_skipped_and_others_are_not(tmp_path):
    data = read(tmp_path / "t.csv", "a,lab\n1,x\n2,y\n,\n , \n", labels="lab")
    assert data.n_points == 2
    assert "skipped 2 empty rows at the end" in data.notes
    said = refused(tmp_path / "t.csv", "a,lab\n1,x\n,\n2,y\n", labels="lab")
    assert "line 3" in said  # row numbers are ids: none may shift


def test_what_a_spreadsheet_did_not_find_is_no_label(tmp_path):
    data = read(tmp_path / "t.csv", "a,lab\n1,x\n2,#N/A\n3,y\n", labels="lab")
    assert data.labels.tolist() == ["x", None, "y"]


def test_checksums_of_parquet_are_compared(tmp_path):
    from pyarrow import Table, parquet

    table = Table.from_pandas(pd.DataFrame({"lab": ["x", "y", ""] * 4, "a": np.arange(12.0)}))
    settings = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(table, tmp_path / "t.parquet", **settings)
    assert read(tmp_path / "t.parquet", labels="lab").n_points == 12
    damaged = bytearray((tmp_path / "t.parquet").read_bytes())
    damaged[damaged.index(np.arange(3.0, 8.0).tobytes()) + 6] ^= 1  # 3 becomes another number
    (tmp_path / "t.parquet").write_bytes(damaged)
    assert "checksum" in refused(tmp_path / "t.parquet", labels="lab")


def test_a_pipe_is_refused_at_once(tmp_path):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes in this file system")
    os.mkfifo(tmp_path / "t.csv")
    assert "save it as a file" in refused(tmp_path / "t.csv", labels="lab")


def test_entries_of_one_place_are_added_up_with_a_note(tmp_path):
    heading = "%%MatrixMarket matrix coordinate real symmetric\n"
    (tmp_path / "labels.csv").write_text("id,kind\n1,left\n3,right\n")
    data = read(
        tmp_path / "g.mtx", heading + "3 3 3\n2 1 1\n2 1 2\n3 2 1\n",
        labels_file=tmp_path / "labels.csv",
    )  # fmt: skip
    assert edges_of(data) == {("1", "2", 3.0), ("2", "3", 1.0)}
    assert any("added up" in note for note in data.notes)


def test_commas_and_spaces_are_not_guessed(tmp_path):
    with pytest.raises(InvalidInputError, match="check the delimiter"):
        read_graph(tmp_path, "a, b\nb, d\n")


def test_an_asymmetric_matrix_is_refused_by_pair(tmp_path):
    mmwrite(tmp_path / "g.mtx", sparse.coo_array(([0.5, 0.25], ([0, 1], [1, 0])), shape=(3, 3)))
    (tmp_path / "labels.csv").write_text("id,kind\n1,left\n3,right\n")
    said = refused(tmp_path / "g.mtx", labels_file=tmp_path / "labels.csv")
    assert "(0.5 in row 1, column 2, and 0.25 the other way round)" in said


@pytest.mark.parametrize(
    ("size", "word"), [("1000000000 1000000000 1", "stand alone"), ("3 3 1000000000", "truncated")]
)
def test_size_lines_are_checked_before_memory_is_taken(tmp_path, size, word):
    content = f"%%MatrixMarket matrix coordinate real symmetric\n{size}\n2 1 1.0\n"
    with pytest.raises(InvalidInputError, match=word):
        read_graph(tmp_path, content, "g.mtx")


# -- settings that are written as text ---------------------------------------------------------


@pytest.mark.parametrize("size", ["inf", "nan", "1e999"])
def test_sizes_of_graphs_are_finite(size):
    with pytest.raises(InvalidInputError, match="is not a whole number"):
        make_builder(f"knn:{size}")


@pytest.mark.parametrize(("text", "value"), [("False", False), ("true", True)])
def test_options_of_graphs_may_be_truth_values(text, value):
    assert make_builder(f"mutual_knn:5,spanning_tree={text}").spanning_tree == value


@pytest.mark.parametrize("text", ["0:1:100000", "0:inf:4", "nan:1:4", "0:1:1000000000000"])
def test_ranges_of_temperatures_are_finite_and_not_endless(text):
    with pytest.raises(InvalidInputError, match="at most 10000"):
        read_grid(text)
