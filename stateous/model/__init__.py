"""What every layer shares: the graph, its guards and models, the fields of requests, the refusals."""
