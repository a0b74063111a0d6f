"""How slow this processor is: bounds in seconds of the processor hold for one that is known."""

import time

REFERENCE = 0.011  # processor seconds of `_work`, on the machine for which bounds are written


def slowness() -> float:
    """How many times longer work takes here, and now; 1 on a processor that is faster."""
    return max(1.0, min(_work() for _ in range(5)) / REFERENCE)


def _work() -> float:
    began, found = time.process_time(), 0
    for k in range(200_000):
        found += k * k % 7
    return time.process_time() - began
