"""NumPy's own files (.npy, .npz), read without ever unpickling.

Headers are looked at before any data: an array of Python objects is refused, and so is one whose
shape is not that of the data behind it, more or less. The members of an archive are read to their
end, where their checksum is compared: NumPy stops as soon as an array is full and never gets there.
"""

from __future__ import annotations

import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError

Arrays = dict[str, npt.NDArray[Any]]
MAX_BYTES = 1 << 34  # of all arrays of a file together, unpacked
OWN_PACKED = 200  # the same of a whole file that this library wrote, and that is not small
SMALL = 1 << 28  # bytes
MOST_PACKED = 1100  # bytes that one byte of a deflated file can stand for: 1032 by its design
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # all that NumPy writes
ENCRYPTED = 0x1
LARGE = 1e8  # bytes
TIGHT, LOOSE = 6, 1  # levels of compression
END = struct.Struct("<4s4H2LH")  # the last record of an archive; its fifth entry counts members
MANY_MEMBERS = 0xFFFF  # as many, or more
LAST_CODE_POINT = 0x10FFFF
SURROGATES = 0xD800, 0xDFFF


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array of a .npy file."""
    with _told(path, ".npy"):
        return _read_array(lambda: open(path, "rb"), path, path.stat().st_size)


def write_npz(file: IO[bytes], arrays: Arrays) -> None:
    """Write a .npz file; a large one is packed less tightly, in a third of the time."""
    size = sum(values.nbytes for values in arrays.values())
    level = TIGHT if size <= LARGE else LOOSE
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)


def read_npz(path: Path, *, own: bool = False) -> Arrays:
    """The arrays of a .npz file by name.

    Parameters
    ----------
    path : Path
    own : bool
        Whether this library wrote it: one with much more than it would write is refused unread.
    """
    arrays: Arrays = {}
    with _told(path, ".npz"), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_count(path, archive)
        _check_sizes(path, members, own)
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"it holds two arrays {name!r}")
            arrays[name] = _read_array(partial(archive.open, member), path, member.file_size)
    return arrays


@contextmanager
def _told(path: Path, kind: str) -> Iterator[None]:
    """Whatever is wrong with a file is said in one line that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a header is of Python 2, or damaged
            yield
    except InvalidInputError:
        raise
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInputError(
            f"{path} is damaged, or not a {kind} file ({error}): get it again"
        ) from error
    # NumPy reads headers by Python's own parser, which raises all kinds.
    except Exception as error:
        raise InvalidInputError(f"{path} is not a readable {kind} file: {error}") from error


def _check_count(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive whose list of members breaks off: damage there looks like its end."""
    n_listed = len(archive.infolist())
    with open(path, "rb") as file:
        file.seek(-END.size - len(archive.comment), os.SEEK_END)
        *_, n_members, _, _, _ = END.unpack(file.read(END.size))
    if n_members not in (n_listed, MANY_MEMBERS):
        raise ValueError(f"it lists {n_listed} arrays, but should hold {n_members}")


def _check_sizes(path: Path, members: list[zipfile.ZipInfo], own: bool) -> None:
    """Refuse what would unpack to more than the file can hold, before anything is unpacked."""
    claimed = sum(member.file_size for member in members)
    if claimed > MAX_BYTES:
        raise InvalidInputError(
            f"{path} unpacks to more than {MAX_BYTES >> 30} GB: give a smaller file"
        )
    held = path.stat().st_size
    if own and claimed > max(SMALL, OWN_PACKED * held):
        raise InvalidInputError(
            f"{path} unpacks to {claimed >> 20} MB, far more than what was written into it: it is "
            "damaged; get it again"
        )
    for member in members:
        if member.flag_bits & ENCRYPTED:
            raise InvalidInputError(
                f"{path} is encrypted, or damaged: unpack it with its password, or get it again"
            )
        if member.compress_type not in METHODS:
            raise InvalidInputError(
                f"{path} is packed in a way that NumPy does not write, or damaged: save it with "
                "numpy.savez or numpy.savez_compressed"
            )
        if member.compress_size > held or member.file_size > MOST_PACKED * member.compress_size:
            raise InvalidInputError(f"{path} is truncated: it claims more data than it can hold")


def _read_array(opened: Callable[[], IO[bytes]], path: Path, size: int) -> npt.NDArray[Any]:
    """The one array in `size` bytes, all of which are read."""
    with opened() as file:
        _check_header(file, path, size)
    with opened() as file:
        array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
        if file.read(1):  # an archive compares its checksum at the very end
            raise ValueError("there is more data after the array")
    _check_text(path, array)
    return array


def _check_header(file: IO[bytes], path: Path, size: int) -> None:
    """Refuse objects, and shapes that are not those of the data."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"format version {version} is not read here")
    if dtype.hasobject:
        raise InvalidInputError(
            f"{path} holds pickled Python objects, which are never loaded because they can run "
            "code: save numbers or fixed-length text instead"
        )
    claimed = dtype.itemsize * int(np.prod(shape, dtype=object))
    there = size - file.tell()
    if claimed > there:
        raise InvalidInputError(f"{path} is truncated: its header claims more data than there is")
    if claimed < there:
        raise InvalidInputError(
            f"{path} is damaged: the shape {shape} in its header is that of {claimed} bytes, but "
            f"{there} are there; get it again"
        )


def _check_text(path: Path, array: npt.NDArray[Any]) -> None:
    """Refuse text that no file could be written with."""
    if array.dtype.kind != "U" or array.size == 0:
        return
    order = ">u4" if array.dtype.str.startswith(">") else "<u4"
    codes = np.ascontiguousarray(array).view(order)
    low, high = SURROGATES
    if np.any((codes > LAST_CODE_POINT) | ((codes >= low) & (codes <= high))):
        raise InvalidInputError(
            f"{path} holds text that is not Unicode: save its names as they should read"
        )
