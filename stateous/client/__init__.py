"""The client of the HTTP API, blocking and async."""
