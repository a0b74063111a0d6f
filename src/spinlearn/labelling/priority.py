"""Work that nobody waits for stands back for work that somebody does."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

BACK = 3  # levels of nice: half the time of a thread that does not stand back


def step_back() -> None:
    """Give this thread a lower priority, and those that it starts.

    So that the browser paints at once while the answer is computed beside it. Only Linux counts
    threads for themselves; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):  # forbidden: then it stays as it is
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + BACK)
