"""Monte Carlo: walkers, ladders of temperatures, sums and their errors."""
