"""NumPy's own files (.npy, .npz), read without ever unpickling.

Headers are looked at before any data: an array of Python objects is refused, and so is one that
claims more data than the file holds.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError

Arrays = dict[str, npt.NDArray[Any]]
MAX_BYTES = 1 << 34  # of all arrays of a file together, unpacked


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array of a .npy file."""
    try:
        with open(path, "rb") as file:
            _check_header(file, path, path.stat().st_size)
            file.seek(0)
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise InvalidInputError(f"{path} is not a readable .npy file: {error}") from error


def read_npz(path: Path) -> Arrays:
    """The arrays of a .npz file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:
                raise InvalidInputError(
                    f"{path} unpacks to more than {MAX_BYTES >> 30} GB: give a smaller file"
                )
            for member in members:
                with archive.open(member) as file:
                    _check_header(file, path, member.file_size)
            arrays = {}
            for member in members:
                with archive.open(member) as file:
                    name = member.filename.removesuffix(".npy")
                    arrays[name] = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
            return arrays
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, NotImplementedError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} is not a readable .npz file: {error}") from error


def _check_header(file: IO[bytes], path: Path, size: int) -> None:
    """Refuse objects and headers that lie about the size."""
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
    if dtype.itemsize * int(np.prod(shape, dtype=object)) > size:
        raise InvalidInputError(f"{path} is truncated: its header claims more data than there is")
