"""Compiled loops over flat arrays; they see no Python objects, allocate little and raise nothing."""
