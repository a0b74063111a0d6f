"""Locks that the operating system holds on open files, and gives up when their process ends."""

from __future__ import annotations

import os
import sys

BEYOND = 2**30  # the byte that Windows locks: nobody can read a locked one, so none with text


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file until it is closed, however the process ends.

    Parameters
    ----------
    descriptor : int
        Of a file open for reading and writing.

    Returns
    -------
    bool or None
        False if it is locked already; None where the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, BEYOND, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (OSError, ImportError):
        return None
    return True
