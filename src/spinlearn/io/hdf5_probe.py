"""Whether HDF5 can read a file at all, tried in a process of its own.

Damaged text in a file can send the HDF5 library into an endless loop, or end the process, and
nothing in this one could stop it. The other process reads what the loop was met in: attributes and
text of any length.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spinlearn.errors import InvalidInputError

MOST_SECONDS = 15.0  # a sound file of any size takes a fraction of one, beside the start of Python
PROBE = """
import sys
import h5py

def read(name, part):
    for key in part.attrs:
        part.attrs[key]
    if isinstance(part, h5py.Dataset) and part.dtype.kind == "O":
        part[()]

with h5py.File(sys.argv[1], "r") as file:
    read("/", file)
    file.visititems(read)
"""


def check_hdf5_ends(path: Path) -> None:
    """Refuse a file in which HDF5 loses itself; errors that it tells of are left to the reader."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidInputError(
            f"{path} is damaged: HDF5 comes to no end in reading its text; get it anew"
        ) from error
    if done.returncode not in (0, 1):  # 1 is an error in words
        raise InvalidInputError(
            f"{path} is damaged: HDF5 breaks down over it (exit code {done.returncode}); get it "
            "anew"
        )
