"""NumPy's files: what is read is what was written, or nothing is."""

import io
import struct
import zipfile

import numpy as np
import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import read_npy, read_npz

ARRAYS = {
    "X": np.arange(48.0 * 7 * 3).reshape(48, 7, 3),
    "y": np.array(["A", "", "Ä", "beta"]),
    "flags": np.array([True, False]),
    "one": np.array(5),
    "none": np.empty((0, 3)),
    "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}
SAVERS = {"stored": np.savez, "deflated": np.savez_compressed}


@pytest.fixture(params=SAVERS)
def path(request, tmp_path):
    """An archive, packed or not."""
    SAVERS[request.param](tmp_path / "a.npz", **ARRAYS)
    return tmp_path / "a.npz"


def refused(path) -> str:
    reader = read_npz if path.suffix == ".npz" else read_npy
    with pytest.raises(InvalidInputError) as caught:
        reader(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_arrays_come_back_as_they_were(path):
    found = read_npz(path)
    assert list(found) == list(ARRAYS)
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype


@pytest.mark.parametrize("shape", [b"(48, 7, 1)", b"(16, 7, 3)", b"(4, 7, 3) "])
@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_a_shape_smaller_than_the_data_is_refused(tmp_path, name, shape):
    """NumPy would stop early, and never look at the checksum."""
    np.savez(tmp_path / "a.npz", **ARRAYS)
    np.save(tmp_path / "a.npy", ARRAYS["X"])
    whole = (tmp_path / name).read_bytes()
    assert b"(48, 7, 3)" in whole
    (tmp_path / name).write_bytes(whole.replace(b"(48, 7, 3)", shape))
    assert "more data than an array of shape (" in refused(tmp_path / name)


def test_no_single_flipped_bit_is_read_as_other_values(path):
    """Bits that carry no meaning (dates, attributes) may change; the arrays may not."""
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    n_refused = 0
    for place in generator.choice(8 * len(whole), 400, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            found = read_npz(path)
        except InvalidInputError:
            n_refused += 1
            continue
        assert list(found) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(found[name], values)
    assert n_refused > 200


def packed(path, *texts):
    """An archive of arrays X, each given by its bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for text in texts:
            archive.writestr("X.npy", text)


def large_claim(path):
    """Refused before memory is taken."""
    np.savez(path, X=np.zeros(8))
    whole = bytearray(path.read_bytes())
    directory = whole.index(b"PK\x01\x02")
    whole[directory + 24 : directory + 28] = struct.pack("<I", 1 << 31)  # size unpacked
    path.write_bytes(whole)


def bytes_of(values) -> bytes:
    text = io.BytesIO()
    np.save(text, values)
    return text.getvalue()


SHRUNKEN = bytes_of(ARRAYS["X"]).replace(b"(48, 7, 3)", b"(48, 7, 1)")  # damaged, then packed


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("a.npz", lambda path: packed(path, SHRUNKEN), "of shape (48, 7, 1)"),
        ("a.npz", large_claim, "than it can hold"),
        ("a.npz", lambda path: packed(path, *[bytes_of([0.0])] * 2), "two arrays 'X'"),
        ("a.npy", lambda path: np.save(path, np.array(["p1", "p\ud800"])), "surrogates"),
        ("a.npy", lambda path: np.save(path, np.array([112, 0x110000], "u4").view("U1")), ""),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_refused(tmp_path, name, write, message):
    write(tmp_path / name)
    assert message in refused(tmp_path / name)


def test_files_do_not_unpack_to_more_than_any_should_nor_own_ones_to_far_more_than_was_written(
    tmp_path, monkeypatch
):
    """Zeros under a name that nobody asks for would fill the memory before they are refused."""
    monkeypatch.setattr("spinlearn.files.arrays.SMALL", 1 << 16)
    np.savez_compressed(tmp_path / "z.npz", zeros=np.zeros(1 << 17))
    assert len(read_npz(tmp_path / "z.npz")["zeros"]) == 1 << 17  # a user's may
    with pytest.raises(InvalidInputError, match="claims 1 MB unpacked"):
        read_npz(tmp_path / "z.npz", own=True)
    monkeypatch.setattr("spinlearn.files.arrays.MAX_BYTES", 1 << 18)
    with pytest.raises(InvalidInputError, match="MB unpacked, more than it can hold"):
        read_npz(tmp_path / "z.npz")
