"""What is asked of the operating system about processes, on all of them alike."""

from __future__ import annotations

import os
import sys

STILL_ACTIVE = 259  # exit code of a process that runs, as Windows has it
QUERY = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION


def is_running(process: int) -> bool:
    """Whether a process of this machine runs, whoever owns it."""
    if process <= 0:
        return False
    if sys.platform == "win32":  # where os.kill(process, 0) would end it
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:  # no number of a process
        return False
    except OSError:
        pass  # it is another user's
    return True


def _is_running_on_windows(process: int) -> bool:
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
    handle = kernel.OpenProcess(QUERY, False, process)
    if not handle:
        return False
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return bool(known) and code.value == STILL_ACTIVE


def usable_cores() -> int:
    """Number of cores that this process may use, or that the machine has where nothing is said."""
    if hasattr(os, "sched_getaffinity"):  # Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
