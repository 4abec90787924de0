"""Turns a flow.py into a graph file and the Python that routines import."""
