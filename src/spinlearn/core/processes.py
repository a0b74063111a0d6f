"""What is asked of the operating system about processes, on all of them alike."""

from __future__ import annotations

import os
import sys

STILL_ACTIVE = 259  # exit code of a process that runs, as Windows has it
ACCESS_DENIED = 5  # ERROR_ACCESS_DENIED
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
    from ctypes import wintypes

    if process >= 2**32:  # no number of a process
        return False
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
    # Without these a handle would be cut to 32 bits.
    kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    kernel.OpenProcess.restype = wintypes.HANDLE
    kernel.GetExitCodeProcess.argtypes = (wintypes.HANDLE, wintypes.LPDWORD)
    kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    handle = kernel.OpenProcess(QUERY, False, process)
    if not handle:  # it is another user's, or there is none
        denied = ctypes.get_last_error() == ACCESS_DENIED  # type: ignore[attr-defined, unused-ignore]
        return bool(denied)
    code = wintypes.DWORD()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return bool(known) and code.value == STILL_ACTIVE


def usable_cores() -> int:
    """Number of cores that this process may use, or that the machine has where nothing is said."""
    if hasattr(os, "sched_getaffinity"):  # Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
