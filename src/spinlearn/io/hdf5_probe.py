"""Whether HDF5 can read a file at all, tried in a process of its own.

Damaged text in a file can send the HDF5 library into an endless loop, make it ask for gigabytes, or
end the process, and nothing in this one could stop it. The other process reads what all that was
met in: attributes and text of any length.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from spinlearn.errors import InvalidInputError

MOST_SECONDS = 12  # of the processor, for a small file; most take a fraction of one
BYTES_PER_SECOND = 5_000_000  # of a large file; text takes a fifth of that time
OUT_OF_TIME = -getattr(signal, "SIGXCPU", 0) or None  # no such exit code on Windows
SLOWEST = 10  # seconds by the clock for one of the processor, on a busy machine
PROBE = """
import os
import sys
import h5py

try:  # where a process can bound itself
    import resource
    seconds = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    most = (3 << 29) + 20 * os.path.getsize(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
except (ImportError, OSError, ValueError):
    pass

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
    """Refuse a file in which HDF5 loses itself, or finds an error."""
    seconds = MOST_SECONDS + path.stat().st_size // BYTES_PER_SECOND
    endless = InvalidInputError(
        f"{path} is damaged: HDF5 does not finish reading its text; get it again"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(path), str(seconds)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            timeout=SLOWEST * seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise endless from error
    if done.returncode == OUT_OF_TIME:
        raise endless
    lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
    if done.returncode == 0 or (lines and lines[-1].startswith("ModuleNotFoundError")):
        return
    said = lines[-1] if done.returncode == 1 and lines else f"exit code {done.returncode}"
    raise InvalidInputError(f"{path} is damaged: HDF5 cannot read it ({said}); get it again")
