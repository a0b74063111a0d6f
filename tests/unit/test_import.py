"""`import spinlearn` is light, and every public name exists."""

from __future__ import annotations

import subprocess
import sys

import spinlearn

PROBE = """
import time, numpy, sys
began = time.process_time()
import spinlearn
seconds = time.process_time() - began
heavy = [m for m in ("numba", "sklearn", "scipy", "matplotlib", "pandas") if m in sys.modules]
print(seconds, *heavy)
"""


def test_import_is_light():
    runs = [
        subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    seconds, *heavy = min(r.stdout.split() for r in runs)
    assert heavy == []
    assert float(seconds) < 0.3


def test_every_public_name_resolves():
    for name in spinlearn.__all__:
        assert getattr(spinlearn, name) is not None
    assert set(spinlearn.__all__) <= set(dir(spinlearn))
