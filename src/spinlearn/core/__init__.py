"""The types everything else speaks in; imports NumPy only."""
