"""Arrays in files: read whole or refused.

NumPy's own files (.npy, .npz), read without ever unpickling.

They are read to their end, where the checksum of an archive is compared: NumPy stops as soon as an
array is full, and never gets there.

Checks of what came from a file, against what the code that reads it trusts.
"""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError

Arrays = dict[str, npt.NDArray[Any]]
MAX_BYTES = 1 << 34  # of all arrays of a file together, unpacked
OWN_PACKED = 200  # bytes that one byte of a file that this library wrote, and that is not small,
SMALL = 1 << 28  # bytes, can stand for;
MOST_PACKED = 1100  # and of any deflated file: 1032 by its design
LARGE = 1e8  # bytes
LAST_RECORD, MANY_MEMBERS = 22, 0xFFFF  # bytes of an archive that end it; as many, or more
TIGHT, LOOSE = 6, 1  # levels of compression


def read_npy(path: Path) -> npt.NDArray[Any]:
    with _told(path, ".npy"), open(path, "rb") as file:
        return _read_array(file)


def write_npz(file: IO[bytes], arrays: Arrays) -> None:
    """Write a .npz file; a large one is packed less tightly, in a third of the time."""
    size = sum(values.nbytes for values in arrays.values())
    level = TIGHT if size <= LARGE else LOOSE
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)


def read_npz(path: Path, *, own: bool = False) -> Arrays:
    """The arrays of a .npz file by name; our `own` files hold no more than we would write."""
    arrays: Arrays = {}
    with _told(path, ".npz"), zipfile.ZipFile(path) as archive:
        members, held = archive.infolist(), path.stat().st_size
        with open(path, "rb") as file:  # damage in the list of members looks like its end
            file.seek(-LAST_RECORD - len(archive.comment), os.SEEK_END)
            count = int.from_bytes(file.read(LAST_RECORD)[10:12], "little")
        if count not in (len(members), MANY_MEMBERS):
            raise ValueError(f"it lists {len(members)} arrays, but should hold {count}")
        claimed = sum(member.file_size for member in members)
        most = max(SMALL, OWN_PACKED * held) if own else MOST_PACKED * held
        if claimed > min(most, MAX_BYTES):  # before anything is unpacked
            raise ValueError(f"it claims {claimed >> 20} MB unpacked, more than it can hold")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"it holds two arrays {name!r}")
            with archive.open(member) as packed:
                arrays[name] = _read_array(packed)
    return arrays


@contextmanager
def _told(path: Path, kind: str) -> Iterator[None]:
    """Whatever is wrong with a file is said in one line that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a header is of Python 2, or damaged
            yield
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    # NumPy reads headers by Python's own parser, which raises all kinds.
    except Exception as error:
        said = " ".join(str(error).split())
        if "allow_pickle" in said:
            raise InvalidInputError(
                f"{path} holds pickled Python objects, which are never loaded because they can run "
                "code: save numbers or fixed-length text instead"
            ) from error
        raise InvalidInputError(
            f"{path} is damaged, truncated, or not a {kind} file ({said}): get it again"
        ) from error


def _read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    """The one array of a file, all of which is read."""
    array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    if file.read(1):  # an archive compares its checksum at the very end
        raise ValueError(f"there is more data than an array of shape {array.shape} has")
    if array.dtype.kind == "U":  # text that no file could be written with raises
        "".join(array.ravel().tolist()).encode()
    return array


SINGLE = float(np.finfo(np.float32).max)


def within(name: str, values: npt.ArrayLike, low: float, high: float) -> None:
    """Refuse numbers outside low <= x <= high; NaN is outside, and so is all that is no number."""
    array = np.asarray(values)
    least, most = np.float64(low), np.float64(high)  # no bound is rounded to single precision
    if array.dtype.kind not in "biuf" or not np.all((array >= least) & (array <= most)):
        raise ValueError(f"{name} holds values outside {low:g} to {high:g}")
