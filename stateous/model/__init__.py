"""What every layer shares: the graph, its guards and models, the words of the wire, the refusals."""
