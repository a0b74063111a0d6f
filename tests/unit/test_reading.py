"""Reading files: what becomes a feature, a label, an id, an edge, and what is refused."""

import gzip
import os
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from spinlearn.answers.labels import clean_labels
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs import make_builder
from spinlearn.io import table
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
    (frame.to_csv if path.suffix == ".csv" else frame.to_parquet)(path)


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


def test_a_column_of_lists_is_no_feature(tmp_path):
    path = tmp_path / "d.parquet"
    for lengths in ([2] * 6, range(6)):
        write(FRAME.assign(lists=[[1.0] * length for length in lengths]), path)
        data = read(path, labels="lab")
        assert data.feature_names == ["a", "b"]
        assert "left out 'lists': neither numbers nor words" in data.notes
        assert "'lists'" in refused(path, labels="lab", features=("lists",))


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("lab,a,b\nA,1,0\n,2,True\n", {}, ["'True' in line 3"]),
        *[
            (f'lab,a\nA,1\n,"{cell}"\n', {}, ["decimal points", "thousands"])
            for cell in ("1,5", "1,000", "1,000,000.5")
        ],
        ("lab,a,b\nA,1,\n,2,\n", {"features": ("a,b",)}, ["lacks 2"]),  # named, but empty
        *[
            (f"name,lab,a\np,A,1\n{cell},B,2\n{cell},,3\n", {"id": "name"}, ["line 3"])
            for cell in ("", "NA", "null")
        ],
        ('a,b,lab\n1,2,x\n2,3,"y\n' + "3,4,\n" * 9, {}, ["the row that begins in line 3"]),
        ('a,b,lab\n1,2,x\n"2\n\n",3\n', {}, ["2 cells in line 3"]),
        ("a,lab\n1,x\n,\n2,y\n", {}, ["line 3"]),  # row numbers are ids: none may shift
    ],
)
def test_tables_that_cannot_be_read_are_refused_by_line(tmp_path, content, options, said):
    found = refused(tmp_path / "d.csv", content, labels="lab", **options)
    assert all(part in found for part in said)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_of_both_kinds_are_read_alike(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    flag = [True, False, True, True, False, False]
    write(FRAME.assign(flag=flag, **{"Unnamed: 0": [0, 1, 2, 4, 5, 9]}), path)  # an index twice
    data = read(path, labels="lab")
    assert data.feature_names == ["a", "b", "flag"]
    assert data.points[:, 2].tolist() == [1, 0, 1, 1, 0, 0]
    assert data.labels.tolist() == [0, 1, None, None, 1, 0]


def test_twin_columns_and_infinite_labels_of_parquet_are_refused(tmp_path):
    twins = pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["lab", "a", "a"])
    parquet.write_table(twins, tmp_path / "d.parquet")
    assert "twice, for example 'a'" in refused(tmp_path / "d.parquet", labels="lab")
    write(FRAME.assign(lab=[0, 1, np.inf, 1, 0, 0]), tmp_path / "d.parquet")
    assert "label in row 2 (from 0) is infinite" in refused(tmp_path / "d.parquet", labels="lab")


def test_comments_are_skipped_but_a_heading_may_begin_like_one(tmp_path):
    content = "# made today, by hand\n#\nlab,a\nA,1\n,2\n"
    data = read(tmp_path / "d.csv", content, labels="lab")
    assert data.points[:, 0].tolist() == [1, 2]
    assert "skipped 2 lines of comments before the heading" in data.notes
    content = "#key,lab,a\nx,A,1\ny,,2\n"
    assert read(tmp_path / "d.csv", content, labels="lab", id="#key").ids == ["x", "y"]
    labels = tmp_path / "labels.csv"
    labels.write_text('lab\nA\n""\n')
    data = read(tmp_path / "d.csv", "#a,b\n1,2\n3,4\n", labels_file=labels)
    assert data.feature_names == ["#a", "b"]


def test_names_of_features_may_hold_commas(tmp_path):
    content = 'lab,a,"b,c",c\nA,1,2,3\n,4,5,6\n'
    path = tmp_path / "d.csv"
    for features, used in ((("b,c",), ["b,c"]), (("a, c", "b,c"), ["a", "c", "b,c"])):
        assert read(path, content, labels="lab", features=features).feature_names == used
    assert "no column 'd'" in refused(path, labels="lab", features=("a,d",))


def test_huge_features_are_named_before_they_overflow():
    points = np.array([[1.0, 1e308], [2.0, -1e308]])
    for how in ({"scale": "standard"}, {"top_variance": 1}, {}):
        with pytest.raises(InvalidInputError, match="'b' holds values up to 1e\\+308"):
            prepared(points, ["a", "b"], **how)


@pytest.mark.parametrize(
    ("cells", "nothing", "labels"),
    [
        (["0.0", "1.0", "-1.0", ""], (), [0, 1, None, None]),
        ([0.0, 1.0, -1.0, np.nan], (), [0, 1, None, None]),
        (["1", "1.0", "2", "2.0"], (), [1, 1, 2, 2]),
        (["01", "1.0", "2", "-1"], (), ["01", "1.0", "2", None]),
        (["1.5", "1.0"], (), ["1.5", "1.0"]),
        ([1.5, 1.0], (), ["1.5", "1.0"]),
        (["1e3", "7"], (), ["1e3", "7"]),
        ([b"A", b""], (), ["A", None]),
        (["A", "#N/A"], (), ["A", None]),  # as spreadsheets say that they found nothing
        (["?", "1", "2.0"], ("?",), [None, 1, 2]),
        (["0.0", "1.0"], ("0",), [None, 1]),
        (["A", "unknown"], ("unknown",), ["A", None]),
    ],
)
def test_labels_are_whole_numbers_if_all_are(cells, nothing, labels):
    assert clean_labels(cells, nothing).tolist() == labels


def test_a_labels_file_shows_its_own_delimiter(tmp_path):
    write(pd.DataFrame({"id": ["a", "d"], "kind": ["x", "y"]}), tmp_path / "k.parquet")
    for mark in (",", ";", "\t", " ", "parquet"):
        path = tmp_path / ("k.parquet" if mark == "parquet" else "k.csv")
        if mark != "parquet":
            path.write_text("id,kind\na,x\nd,y\n".replace(",", mark))
        options = {"delimiter": " ", "labels": "kind", "labels_file": path}
        data = read(tmp_path / "g.edges", EDGES.replace("\t", " "), **options)
        assert data.labels.tolist() == ["x", None, None, "y"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_pandas_index_beside_labels_is_neither_label_nor_id(tmp_path, kind):
    path, content = tmp_path / f"k.{kind}", "a\n5\n6\n8\n7\n"
    frame = pd.DataFrame({"key": ["1", "3"], "kind": ["x", "y"]}, index=[0, 2])
    write(frame, path)
    data = read(tmp_path / "d.csv", content, labels_file=path)
    assert data.labels.tolist() == [None, "x", None, "y"]
    write(frame[["kind"]], path)  # the index alone counts rows as they are counted
    data = read(tmp_path / "d.csv", content, labels_file=path)
    assert data.labels.tolist() == ["x", None, "y", None]
    write(frame.set_index("key"), path)
    data = read(tmp_path / "d.csv", content, labels_file=path)
    assert data.labels.tolist() == [None, "x", None, "y"]


def test_labels_files_that_do_not_fit_are_refused_for_what_they_are(tmp_path):
    np.savez(tmp_path / "k.npz", y=np.zeros(4))
    (tmp_path / "k.csv").write_text("id,kind\na,x\ne,y\n")
    for name, words in (
        ("k.npz", "labels are read from"), (".", "is a folder"), ("no", "exist"),
        ("k.csv", r"labels 'e' in line 3, .* whose ids are 'a', "),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=words):
            read(tmp_path / "g.edges", EDGES, labels="kind", labels_file=tmp_path / name)
    # A list of edges that is read as a table is recognised.
    content = "source\ttarget\tweight\na\tb\t1\nb\te\t2\n"
    options = {"labels": "kind", "labels_file": tmp_path / "k.csv"}
    assert "--edges" in refused(tmp_path / "g.tsv", content, **options)
    # An annotation table may list more points than there are.
    (tmp_path / "k.csv").write_text("id,kind\na,x\nd,y\ne,\n")
    data = read(tmp_path / "g.edges", EDGES, **options)
    assert data.labels.tolist() == ["x", None, None, "y"]


def test_ids_must_be_somewhere(tmp_path):
    path, labels = tmp_path / "d.csv", tmp_path / "labels.csv"
    labels.write_text("key,kind\n0.0,x\n1.0,y\n")  # as pandas writes 0 and 1
    data = read(path, "name,a\np,1\nq,2\nr,3\n", labels_file=labels, id="key")
    assert data.ids == ["0", "1", "2"]
    assert data.labels.tolist() == ["x", "y", None]
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=["A", "B", ""])
    assert "no column 'nope'" in refused(path, labels_file=labels, id="nope")
    assert "no column 'nope'" in refused(tmp_path / "d.npz", id="nope")
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        read_graph(tmp_path, EDGES, id="nope")


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


def test_a_sparse_matrix_is_a_graph_without_features_or_labels(tmp_path):
    path, labels = tmp_path / "g.npz", tmp_path / "labels.csv"
    labels.write_text('kind\nA\nB\n""\n')
    sparse.save_npz(path, sparse.csr_array(np.eye(3)[::-1]))
    assert edges_of(read(path, labels_file=labels)) == {("0", "2", 1.0)}
    assert "--labels-file" in refused(path)
    assert "no features" in refused(path, labels_file=labels, features=("X",))
    sparse.save_npz(path, sparse.eye_array(3, format="dia"))
    assert "CSR, CSC or COO" in refused(path)


def test_features_of_cells_are_x_obsm_or_a_layer(tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.arange(12.0).reshape(4, 3))
    cells.obs_names = [f"c{k}" for k in range(4)]
    cells.obs["kind"] = ["A", "B", "", ""]
    cells.layers["counts"] = sparse.csr_matrix(np.ones((4, 3)))
    cells.obsm["X_pca"] = np.eye(4)
    cells.obsm["words"] = pd.DataFrame({"w": list("pqrs")}, index=cells.obs_names)
    cells.obsm["cube"] = np.ones((4, 2, 2))
    cells.obsm["nothing"] = np.ones((4, 0))
    path = tmp_path / "c.h5ad"
    cells.write_h5ad(path)
    for name, width in (("X", 3), ("counts", 3), ("X_pca", 4)):
        assert read(path, labels="kind", features=(name,)).points.shape == (4, width)
    for name, said in (
        ("words", "numbers"), ("cube", "2-D"), ("nothing", "no features"),
        ("X,QQ", "it has X, X_pca, "), ("X,counts", "cannot be used together"),
    ):  # fmt: skip
        assert said in refused(path, labels="kind", features=(name,))
    cells.obsp["connectivities"] = np.ones((4, 4))  # a dense neighbour graph
    cells.obs_names = ["c", "c", "d", "e"]  # which repeat
    cells.write_h5ad(path)
    data = read(path, labels="kind")
    assert data.graph.n_edges == 6
    assert data.ids == ["0", "1", "2", "3"]
    assert "obs_names repeat: ids are row numbers, from 0" in data.notes


@pytest.mark.parametrize(
    "content",
    [
        *[
            head + EDGES
            for head in ("", "source\ttarget\n", "NodeA\tNodeB\n", "SRC\tdst\n", "i\tj\n",
                         "# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n")
        ],
        *[
            head + EDGES.replace("\n", "\t1\n")
            for head in ("", "from\tto\tweight\n", "one\tother\tstrength\n")
        ],
        "% sym\n" + EDGES.replace("b\tc", "# half of it\nb\tc"),
        EDGES.replace("\t", " "),
        EDGES.replace("\t", " ").replace("\n", " {}\n"),
    ],
)  # fmt: skip
def test_lists_of_edges(tmp_path, content):
    data = read_graph(tmp_path, content)
    assert edges_of(data) == {("a", "b", 1.0), ("b", "c", 1.0), ("c", "d", 1.0)}
    assert data.labels.tolist() == ["left", None, None, "right"]
    # An edge between nodes of such names is no heading.
    assert ("u", "v", 1.0) in edges_of(read_graph(tmp_path, "u\tv\nv\ta\na\td\n"))


MATRIX = "%%MatrixMarket matrix coordinate real {}\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *[
            (f"a\tb\t{weight}\nb\tc\t1\nc\td\t1\n", "in line 1: weights are finite numbers")
            for weight in ("1,5", "", "NA", "1.5x", "?", "1.2.3")
        ],
        *[
            (f"a b {attributes}\nb d {{}}\n", r"attributes .* in line 1")
            for attributes in ("{'color': 'red'}", "{'weight': 1, 'x': 2}",
                               "{'weight': __import__('os')}", "{'weight': }")
        ],
        ("source\ttarget\n", "lists no edge"),
        ("one\tother\tstrength\n", "lists no edge"),
        ("a, b\nb, d\n", "check the delimiter"),
        (MATRIX.format("general") + "3 3 2\n1 2 0.5\n2 1 0.25\n",
         r"\(0.5 in row 0, column 1, from 0, and 0.25 the other way round\)"),
    ],
)  # fmt: skip
def test_graphs_that_cannot_be_read_are_refused(tmp_path, content, said):
    with pytest.raises(InvalidInputError, match=said):
        read_graph(tmp_path, content, "g.mtx" if content.startswith("%%") else "g.edges")


def test_weights_of_networkx_and_of_entries_given_twice(tmp_path):
    graph = nx.Graph([("a", "b", {"weight": 1.5}), ("b", "c", {"weight": np.float64(0.25)})])
    graph.add_edge("c", "d")
    nx.write_edgelist(graph, tmp_path / "nx.txt")
    data = read_graph(tmp_path, (tmp_path / "nx.txt").read_text())
    assert edges_of(data) == {("a", "b", 1.5), ("b", "c", 0.25), ("c", "d", 1.0)}
    (tmp_path / "k.csv").write_text("id,kind\n0,left\n2,right\n")
    content = MATRIX.format("symmetric") + "3 3 3\n2 1 1\n2 1 2\n3 2 1\n"
    data = read(tmp_path / "g.mtx", content, labels_file=tmp_path / "k.csv")
    assert edges_of(data) == {("0", "1", 3.0), ("1", "2", 1.0)}
    assert any("added up" in note for note in data.notes)


def test_a_line_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LONGEST_LINE", 1 << 16)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a" * (1 << 20)))
    assert "a line of more than" in refused(path, labels="lab")


def test_a_wrong_encoding_is_told_and_empty_rows_at_the_end_are_skipped(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b,lab\n1,2,ö\n".encode("latin-1"))
    for encoding in ("utf-16", "utf-32", "undefined", "hex"):
        with pytest.raises(InvalidInputError, match="encoding"):
            read(tmp_path / "t.csv", labels="lab", encoding=encoding)
    data = read(tmp_path / "t.csv", "a,lab\n1,x\n2,y\n,\n , \n", labels="lab")
    assert len(data.ids) == 2
    assert "skipped 2 empty rows at the end" in data.notes


def test_checksums_of_parquet_are_compared(tmp_path):
    frame = pd.DataFrame({"lab": ["x", "y", ""] * 4, "a": np.arange(12.0)})
    settings = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", **settings)
    assert len(read(tmp_path / "t.parquet", labels="lab").ids) == 12
    damaged = bytearray((tmp_path / "t.parquet").read_bytes())
    damaged[damaged.index(np.arange(3.0, 8.0).tobytes()) + 6] ^= 1  # 3 becomes another number
    (tmp_path / "t.parquet").write_bytes(damaged)
    assert "checksum" in refused(tmp_path / "t.parquet", labels="lab")


def test_a_pipe_is_refused_at_once(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes in this file system")
    os.mkfifo(tmp_path / "t.csv")
    assert "save it as a file" in refused(tmp_path / "t.csv", labels="lab")


def test_settings_written_as_text():
    for text, value in (("False", False), ("true", True)):
        assert make_builder(f"mutual_knn:5,spanning_tree={text}").spanning_tree == value
    for grid in ("nan:1:4", "0:1:1000000000000"):
        with pytest.raises(InvalidInputError, match="at most 10000"):
            read_grid(grid)


# -- Excel, GraphML, GML ---------------------------------------------------------------------------


def workbook(path, *rows) -> None:
    """A workbook whose first sheet has these rows."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("other").append(["nothing"])
    book.save(path)


def test_excel_is_read_as_the_same_table_in_csv_is(tmp_path):
    rows = [["key", "kind", "a", "b"], [7, "x", 1.5, 4], [8, None, "#N/A", 5], [9, "y", 2, 6]]
    workbook(tmp_path / "t.xlsx", [], rows[0], rows[1], [], *rows[2:], [])
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    options = {"labels": "kind", "id": "key", "missing": "median"}
    whole, plain = read(tmp_path / "t.xlsx", **options), read(tmp_path / "t.csv", text, **options)
    assert whole.ids == plain.ids == ["7", "8", "9"]
    assert whole.labels.tolist() == plain.labels.tolist()
    assert whole.feature_names == plain.feature_names
    np.testing.assert_array_equal(whole.points, plain.points)
    workbook(tmp_path / "labels.xlsx", *(row[:2] for row in rows))
    again = read(tmp_path / "t.csv", **options, labels_file=tmp_path / "labels.xlsx")
    assert again.labels.tolist() == ["x", None, "y"]


def test_excel_that_cannot_be_a_table_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(path, ["a", "a", "kind"], [1, 2, "x"])
    assert "column names twice" in refused(path, labels="kind")
    workbook(path, ["a", "kind"], [1, "x"], [2, "y"], ["3 km", "y"])
    assert "line 4" in refused(path, labels="kind")
    workbook(path)
    assert "is empty" in refused(path, labels="kind")
    workbook(path, [])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "save it again" in refused(path, labels="kind")
    assert "is not a workbook" in refused(path, "key,kind\n", labels="kind")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()  # a few bytes that would be a billion cells
    book.active["A1"], book.active["XFD1048576"] = "kind", 1
    book.save(path)
    assert "too far apart" in refused(path, labels="kind")


@pytest.mark.parametrize("kind", ["graphml", "gml"])
def test_graphs_with_attributes_are_read_with_labels_names_and_weights(tmp_path, kind):
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=0.5)
    graph.add_edge("b", "c")
    nx.set_node_attributes(graph, {"a": "left", "c": "right"}, "side")
    nx.set_node_attributes(graph, {"a": 10, "b": 11, "c": 12}, "number")
    path = tmp_path / f"g.{kind}"
    getattr(nx, f"write_{kind}")(graph, path)
    found = read(path, labels="side")
    assert found.labels.tolist() == ["left", None, "right"]
    assert edges_of(found) == {("a", "b", 0.5), ("b", "c", 1.0)}
    assert read(path, labels="side", id="number").ids == ["10", "11", "12"]
    (tmp_path / "labels.csv").write_text("name,side\nb,up\n")
    assert read(path, labels_file=tmp_path / "labels.csv").labels.tolist() == [None, "up", None]
    assert "which attribute" in refused(path)
    assert "did you mean 'side'" in refused(path, labels="sides")
    assert "no features" in refused(path, labels="side", features=("number",))
    getattr(nx, f"write_{kind}")(graph.to_directed(), path)
    assert "is a directed graph" in refused(path, labels="side")
    assert "save it again" in refused(path, "graph [ node", labels="side")


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("t.xlsx", "openpyxl", "xlsx"), ("g.gml", "networkx", "networkx")],
)
def test_an_extra_that_is_not_there_is_named(tmp_path, monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'spinlearn\[{extra}\]'"):
        read(tmp_path / name, "PK", labels="kind")
