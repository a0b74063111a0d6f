"""Compiled loops over flat arrays: no Python objects, little allocation, no exceptions."""

from spinlearn.kernels.cache import keep

keep()  # before any of them
