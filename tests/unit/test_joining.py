"""Labels of a second file go to the right points, or the file is refused in one line."""

import numpy as np
import pandas as pd
import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset

N = 12
KINDS = [f"k{row}" for row in range(N)]  # a class of its own for every row: none can be mistaken
POINTS = np.random.default_rng(0).normal(size=(N, 2))
FORMATS = ("csv", "parquet", "npy", "h5ad")
NUMBERED = [str(row) for row in range(N)]
SHUFFLED = np.random.default_rng(1).permutation(N)


def data_file(folder, kind, ids=None):
    """Points without ids, or with them in a column 'name'."""
    path = folder / f"d.{kind}"
    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    if ids is not None:
        frame.insert(0, "name", ids)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npy":
        np.save(path, POINTS)
    else:
        anndata = pytest.importorskip("anndata")
        cells = anndata.AnnData(POINTS)
        if ids is not None:
            cells.obs["name"] = ids
        cells.write_h5ad(path)
    return path


def joined(folder, path, ids, kinds=KINDS, *, labels="csv", column="id", **options):
    """The dataset with the labels of a file of these ids."""
    frame = pd.DataFrame({column: ids, "kind": kinds})
    file = folder / f"labels.{labels}"
    (frame.to_parquet if labels == "parquet" else frame.to_csv)(file, index=False)
    return read_dataset(path, ReadOptions(labels_file=file, **options))


def refused(*arguments, **options) -> str:
    with pytest.raises(InvalidInputError) as caught:
        joined(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("labels", ["csv", "parquet"])
@pytest.mark.parametrize("kind", FORMATS)
def test_labels_reach_their_rows_or_none(tmp_path, kind, labels):
    """Of rows without ids; the second file may be in any order, as text or numbers."""
    path, how = data_file(tmp_path, kind), {"labels": labels}
    for ids in (range(N), NUMBERED, np.arange(N, dtype=float)):
        data = joined(tmp_path, path, ids, **how)
        assert data.ids == NUMBERED
        assert data.labels.tolist() == KINDS
        assert data.joined.startswith(f"12 of 12 rows of {tmp_path / 'labels'}.{labels} matched by")
        assert data.joined.endswith("row number, counted from 0")
    kinds = [KINDS[row] for row in SHUFFLED]
    assert joined(tmp_path, path, SHUFFLED, kinds, **how).labels.tolist() == KINDS
    data = joined(tmp_path, path, [7, 3], ["x", "y"], **how)
    assert {k: v for k, v in enumerate(data.labels) if v is not None} == {7: "x", 3: "y"}
    assert data.joined.startswith("2 of 2 rows")
    assert "shifted by one: subtract 1" in refused(tmp_path, path, range(1, N + 1), **how)
    few = ["x", "y"] + [None] * (N - 2)  # the last row, which is too many, has no label
    assert "shifted by one: subtract 1" in refused(tmp_path, path, range(1, N + 1), few, **how)
    assert "shifted by one: add 1" in refused(tmp_path, path, range(-1, N - 1), **how)
    assert "'99' in " in refused(tmp_path, path, [*range(N - 1), 99], **how)
    assert "'4' twice" in refused(tmp_path, path, [4, *range(N - 1)], **how)
    padded = [f"{row:03}" for row in range(N)]
    assert "but for zeros in front" in refused(tmp_path, path, padded, **how)


@pytest.mark.parametrize("labels", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "h5ad"])
def test_labels_reach_their_names_or_none(tmp_path, kind, labels):
    how = {"labels": labels, "id": "name"}
    padded = [f"{row:03}" for row in SHUFFLED]
    path = data_file(tmp_path, kind, padded)
    assert joined(tmp_path, path, padded, **how).labels.tolist() == KINDS
    backwards = joined(tmp_path, path, padded[::-1], KINDS[::-1], column="name", **how)
    assert backwards.labels.tolist() == KINDS
    assert backwards.joined.endswith("matched by column 'name'")
    assert "but for zeros in front" in refused(tmp_path, path, SHUFFLED, **how)
    path = data_file(tmp_path, kind, SHUFFLED + 1)
    assert joined(tmp_path, path, SHUFFLED + 1, **how).labels.tolist() == KINDS
    assert "shifted by one: add 1" in refused(tmp_path, path, SHUFFLED, **how)


@pytest.mark.parametrize("kind", ["csv", "parquet", "h5ad"])
def test_ids_of_a_column_that_nobody_named_are_recognised(tmp_path, kind):
    path = data_file(tmp_path, kind, [f"p{row}" for row in SHUFFLED])
    said = refused(tmp_path, path, ["p3", "p5"], ["x", "y"])
    assert "labels 'p3' in" in said
    assert said.endswith("look like names in column 'name': say --id 'name'")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_that_may_be_rows_or_ids_are_refused(tmp_path, kind):
    """What counts rows from 1, is called id or is pandas' index might be meant as well."""
    path = data_file(tmp_path, kind, range(1, N + 1))
    said = refused(tmp_path, path, [3, 5], ["x", "y"])
    assert said.endswith("say --id 'name', or --id 'id' for row numbers")
    for column, row in (("id", 3), ("name", 2)):
        chosen = joined(tmp_path, path, [3, 5], ["x", "y"], id=column)
        assert chosen.labels[row] == "x"
    if kind == "csv":  # of a frame of which rows were taken out, and of its labels
        frame = pd.DataFrame(POINTS, columns=["a", "b"], index=SHUFFLED * 2)
        frame.to_csv(path)
        assert "or by column ''" in refused(tmp_path, path, [4, 6], ["x", "y"])
        pd.Series(["x", "y"], index=[4, 6], name="kind").to_csv(tmp_path / "k.csv")
        data = read_dataset(path, ReadOptions(labels_file=tmp_path / "k.csv"))
        assert [data.ids[k] for k, v in enumerate(data.labels) if v is not None] == [
            str(i) for i in SHUFFLED * 2 if i in (4, 6)
        ]


@pytest.mark.parametrize("kind", FORMATS)
def test_without_ids_rows_go_in_order_if_all_are_there(tmp_path, kind):
    path, file = data_file(tmp_path, kind), tmp_path / "kinds.csv"
    for length in (N, N - 1, N + 1):
        pd.DataFrame({"kind": (KINDS * 2)[:length]}).to_csv(file, index=False)
        np.save(tmp_path / "kinds.npy", np.array((KINDS * 2)[:length]))
        for name in (file, tmp_path / "kinds.npy"):
            options = ReadOptions(labels_file=name)
            if length == N:
                data = read_dataset(path, options)
                assert data.labels.tolist() == KINDS
                assert "12 rows are joined in order" in data.joined
            else:
                with pytest.raises(InvalidInputError, match="per point"):
                    read_dataset(path, options)
