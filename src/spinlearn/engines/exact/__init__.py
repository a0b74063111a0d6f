"""Exact averages: enumeration of small models, elimination on narrow graphs."""
