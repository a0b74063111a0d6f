"""Where compiled kernels are kept, and who hears that some are being compiled.

Unless NUMBA_CACHE_DIR names a folder, they lie in the user's folder for caches, in one whose name
tells all that compiled code depends on: every environment of the user with the same text of the
kernels and the same Numba finds them there, and an edit of a kernel's callee, which Numba does not
notice, leads to another folder. Where nothing can be written there, Numba's own places are taken,
and where it has none, a folder that goes when Python ends.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, _CacheLocator
from numba.core.dispatcher import Dispatcher

HERE = Path(__file__).parent
ARGUMENTS = HERE.parent / "model" / "kernel_arguments.py"  # whose fields kernels read by place


def user_folder() -> Path:
    """The user's folder for caches, as the system has it."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def key(sources: Path = HERE) -> str:
    """A name for all that compiled kernels depend on: versions, processor, the kernels' text."""
    text = hashlib.sha256()
    for path in (*sorted(sources.glob("*.py")), ARGUMENTS):
        text.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    version = sys.modules["spinlearn"].__version__  # of which this is a part
    python, processor = platform.python_version(), llvmlite.binding.get_host_cpu_name()
    return "-".join(
        [
            version, f"py{python}", f"numba{numba.__version__}", f"numpy{np.__version__}",
            processor, text.hexdigest()[:16],
        ]
    )  # fmt: skip


def _writable(folder: Path) -> bool:
    """Whether files can be written in a folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def folder() -> Path | None:
    """Where kernels are kept; None: Numba's own place."""
    if config.CACHE_DIR or not HERE.is_dir():  # asked for; a package in a zip
        return None
    own = user_folder() / "spinlearn" / key()
    if _writable(own):
        return own
    if _writable(HERE / "__pycache__"):
        return None
    passing = tempfile.mkdtemp(prefix="spinlearn-")
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return Path(passing)


class KernelCache(_CacheLocator):
    """Says where one kernel is kept."""

    def __init__(self, place: Path, line: int) -> None:
        self._place, self._line = str(place), line

    def get_cache_path(self) -> str:
        return self._place

    def get_source_stamp(self) -> str:
        """The folder's name says all."""
        return ""

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func, py_file):
        """For functions of this package alone."""
        if Path(py_file).parent != HERE:
            return None
        place = folder()
        return None if place is None else cls(place, py_func.__code__.co_firstlineno)


def keep() -> None:
    """Ask Numba to keep kernels there."""
    places = CompileResultCacheImpl._locator_classes
    if KernelCache not in places:
        places.insert(0, KernelCache)


class _Compiling(event.Listener):
    """Tells when compiling begins and ends; kernels are compiled inside others."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self.tell, self.depth = tell, 0

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.tell(True)

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.tell(False)


@contextmanager
def compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Hear, while the block runs, when compiling begins (True) and ends (False)."""
    with event.install_listener("numba:compile", _Compiling(tell)):
        yield


def met() -> dict[str, tuple[int, int]]:
    """Of every kernel that this process has met: its forms, and how many were compiled now."""
    found = {}
    for module in [m for name, m in sys.modules.items() if name.startswith(__package__ + ".")]:
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.__name__:
                now = sum(kernel.stats.cache_misses.values())
                found[f"{module.__name__}.{kernel.py_func.__name__}"] = len(kernel.overloads), now
    return found
