"""The HTTP API: routes, limits, and refusals as answers."""
