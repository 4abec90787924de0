"""What a client sent, read once at the edge: each fault is raised as the refusal that docs/http.md gives it."""
