"""The types everything else speaks in: graph, model, equilibrium, what engines look like."""
