"""Message passing on the edges and loops of a graph."""
