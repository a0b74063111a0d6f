"""What a point looks like, and what is read for someone who labels."""

import base64
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_matrix

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.labelling.thumbnails import Thumbnails, pictures_in, pixel_shape

LABELLING = ReadOptions(for_labelling=True)


def points(values, names=None, **other):
    n, d = np.shape(values)
    parts = {"ids": [f"p{k}" for k in range(n)], "labels": np.full(n, None, dtype=object)}
    names = names or [f"v{k}" for k in range(d)]
    return Dataset(
        source=Path("x"), points=np.array(values, float), feature_names=names, **parts, **other
    )


def test_pixels_are_the_picture_itself():
    values = np.zeros((3, 16))
    values[1] = np.arange(16)
    thumbnails = Thumbnails(points(values, [f"pixel{k}" for k in range(16)]))
    assert thumbnails.shape == (4, 4, 1)
    shown = np.frombuffer(base64.b64decode(thumbnails.look(1)["pixels"]), np.uint8)
    np.testing.assert_array_equal(shown, 17 * np.arange(16))
    assert not np.frombuffer(base64.b64decode(thumbnails.look(0)["pixels"]), np.uint8).any()


@pytest.mark.parametrize(
    ("size", "names", "shape"),
    [
        (None, [f"pixel{k}" for k in range(64)], (8, 8, 1)),
        (None, [f"X[{k}]" for k in range(64)], (8, 8, 1)),
        (None, [f"pixel_{k // 5}_{k % 5}" for k in range(25)], (5, 5, 1)),
        (None, [f"pixel{k}" for k in range(63)], None),
        (None, ["height", "weight", *(f"pixel{k}" for k in range(14))], None),
        (None, [f"pixel{k}" for k in range(9)], None),  # nine numbers are more often a table
        ("none", [f"pixel{k}" for k in range(64)], None),
        ("4x16", [f"a{k}" for k in range(64)], (4, 16, 1)),
        ("2x3x3", [f"a{k}" for k in range(18)], (2, 3, 3)),
    ],
)
def test_pictures_are_recognised(size, names, shape):
    assert pixel_shape(size, names) == shape


def test_sizes_that_do_not_fit_are_refused():
    for size in ("8", "8x9", "0x64", "-8x-8", "8x8x2", "x"):
        with pytest.raises(InvalidInputError, match="--pixels"):
            pixel_shape(size, [f"pixel{k}" for k in range(64)])


def test_unusual_values_are_shown_and_text_beside_them():
    values = np.zeros((50, 40))
    values[7, 33], values[7, 2] = 5.0, -4.0
    values[8] = 0.01
    thumbnails = Thumbnails(points(values, cells={"title": [f"row {k}" for k in range(50)]}))
    seen = thumbnails.look(7)
    assert seen["values"][0] == ["title", "row 7"]
    assert ["v33", "5"] in seen["values"]
    assert ["v2", "-4"] in seen["values"]
    assert seen["more"] == 40 - 16
    np.testing.assert_array_equal(thumbnails.colour("v33"), values[:, 33])
    with pytest.raises(InvalidInputError, match="no column"):
        thumbnails.colour("title")


def test_pictures_are_found_by_id_and_nothing_else(tmp_path):
    for name in ("a.png", "b.JPG", "c.txt", "d.svg", "f.png.gif"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "e.png").mkdir()
    found = pictures_in(tmp_path, ["a", "b", "c", "d", "e", "f.png", "g"])
    assert {row: kind for row, (_, kind) in found.items()} == {
        0: "image/png", 1: "image/jpeg", 5: "image/gif",
    }  # fmt: skip
    with pytest.raises(InvalidInputError, match="named by an id"):
        pictures_in(tmp_path, ["z"])
    with pytest.raises(InvalidInputError, match="not a folder"):
        pictures_in(tmp_path / "nowhere", ["a"])


def test_a_table_without_labels_is_read_for_labelling_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,a,b\nx,1,2\ny,2,3.5\nz,3,1\n")
    with pytest.raises(InvalidInputError, match="which column holds the labels"):
        read_dataset(path, ReadOptions())
    data = read_dataset(path, LABELLING)
    assert data.labels.tolist() == [None] * 3
    assert data.cells["name"] == ["x", "y", "z"]
    path.write_text("name,a,b\nx,1,2\ny,,3.5\nz,3,1\n")
    left = read_dataset(path, ReadOptions(for_labelling=True, missing="drop"))
    assert left.cells["name"] == ["x", "z"]
    np.save(tmp_path / "x.npy", data.points)
    assert len(read_dataset(tmp_path / "x.npy", LABELLING).ids) == 3
    (tmp_path / "g.edges").write_text("a\tb\t1\nb\tc\t1\n")
    assert read_dataset(tmp_path / "g.edges", LABELLING).ids == ["a", "b", "c"]


def test_genes_are_colours(tmp_path):
    anndata = pytest.importorskip("anndata")
    values = np.arange(12.0).reshape(4, 3)
    adata = anndata.AnnData(csr_matrix(values))
    adata.var_names = ["CD4", "MS4A1", "LYZ"]
    adata.obs["donor"] = ["s1", "s1", "s2", "s2"]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    data = read_dataset(tmp_path / "cells.h5ad", LABELLING)
    thumbnails = Thumbnails(data)
    assert data.feature_names == thumbnails.colours() == ["CD4", "MS4A1", "LYZ"]
    np.testing.assert_array_equal(thumbnails.colour("MS4A1"), values[:, 1])
    assert ["donor", "s2"] in thumbnails.look(2)["values"]
    assert ["LYZ", "8"] in thumbnails.look(2)["values"]
    adata.obsm["X_pca"] = values[:, :2]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    names = read_dataset(tmp_path / "cells.h5ad", LABELLING).feature_names
    assert names == ["X_pca[0]", "X_pca[1]"]


def test_a_picture_is_its_pixels(tmp_path):
    image = np.zeros((4, 5, 3), dtype=np.uint8)
    image[:, 3:] = (200, 10, 10)
    image[0, 0] = (0, 0, 5)
    Image.fromarray(image).save(tmp_path / "p.png")
    data = read_dataset(tmp_path / "p.png", LABELLING)
    assert data.ids[:2] == ["r0c0", "r0c1"]
    np.testing.assert_array_equal(data.pixels[6], [1, 1])
    np.testing.assert_array_equal(data.colours.reshape(4, 5, 3), image)
    weights = dict(zip(map(tuple, data.graph.edges.tolist()), data.graph.weights, strict=True))
    assert weights[6, 7] > 0.9 > 0.1 > weights[7, 8]
    with pytest.raises(InvalidInputError, match="paint them with `spinlearn label`"):
        read_dataset(tmp_path / "p.png", ReadOptions())


# A noisy disc, brighter than what is around it, of 0 to 255.
DISC = 30 + 150 * (np.hypot(*np.mgrid[-6:6, -6:6]) < 4)
DISC += np.random.default_rng(0).integers(0, 40, DISC.shape)


@pytest.mark.parametrize(
    ("name", "deeper"),
    [
        ("u16.png", (257 * DISC).astype(np.uint16)),
        ("u16.tif", (100 * DISC + 1000).astype(np.uint16)),
        ("big_endian.tif", (257 * DISC).astype(">u2")),
        ("i32.tif", (10**6 * DISC - 7).astype(np.int32)),
        ("f32.tif", (DISC / 255).astype(np.float32)),
    ],
)
def test_a_deeper_picture_is_the_same_picture(tmp_path, name, deeper):
    Image.fromarray(DISC.astype(np.uint8)).save(tmp_path / "u8.png")
    Image.fromarray(deeper).save(tmp_path / name)
    plain, deep = (read_dataset(tmp_path / file, LABELLING) for file in ("u8.png", name))
    np.testing.assert_array_equal(deep.graph.edges, plain.graph.edges)
    np.testing.assert_allclose(deep.graph.weights, plain.graph.weights, rtol=1e-4)
    assert "picture" in deep.notes[0]
    # Shown from black to white, whatever the unit.
    assert (deep.colours.min(), deep.colours.max()) == (0, 255)
    order = np.argsort(plain.colours[:, 0], kind="stable")
    assert np.all(np.diff(deep.colours[order, 0].astype(int)) >= 0)


@pytest.mark.parametrize(("name", "value"), [("m.png", np.uint8(255)), ("m.tif", np.float32(0.5))])
def test_a_picture_of_two_values_is_a_mask(tmp_path, name, value):
    mask = np.zeros((3, 4), dtype=value.dtype)
    mask[1:, 1:] = value
    Image.fromarray(mask).save(tmp_path / name)
    data = read_dataset(tmp_path / name, LABELLING)
    assert data.ids == ["r1c1", "r1c2", "r1c3", "r2c1", "r2c2", "r2c3"]
    assert set(data.graph.weights) == {1.0}
    Image.fromarray(np.full((3, 4), 900, dtype=np.uint16)).save(tmp_path / "flat.png")
    assert len(read_dataset(tmp_path / "flat.png", LABELLING).ids) == 12
    Image.fromarray(np.array([[7, 7]], dtype=np.uint8)).save(tmp_path / "p.png")
    assert read_dataset(tmp_path / "p.png", LABELLING).ids == ["r0c0", "r0c1"]


def holed(value: float) -> np.ndarray:
    image = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    image[1, 2] = value
    return image


@pytest.mark.parametrize(
    ("image", "said"),
    [
        *((holed(v), r"1 NaN or infinite values.*r1c2.*fill them in") for v in (np.nan, np.inf)),
        (np.array([[0, 9]], dtype=np.uint8), r"too few pixels.*at least 2.*mask.*there is one"),
        (np.array([[7]], dtype=np.uint8), r"too few pixels.*at least 2.*there is one"),
        (None, "cannot be read as a picture"),
    ],
)
def test_pictures_that_cannot_be_used_are_refused(tmp_path, image, said):
    path = tmp_path / "p.tif"
    path.write_bytes(b"\x89PNG nonsense")
    if image is not None:
        Image.fromarray(image).save(path)
    with pytest.raises(InvalidInputError, match=said):
        read_dataset(path, LABELLING)
