"""What can be said about a model or an equilibrium, whatever engine made it."""
