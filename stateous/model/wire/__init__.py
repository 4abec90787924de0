"""What a client sent, read once at the edge: each fault is raised as the refusal that the wire gives it."""
