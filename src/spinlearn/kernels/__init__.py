"""Compiled loops over flat arrays: no Python objects, little allocation, no exceptions."""
