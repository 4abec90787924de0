"""The driver for SQLite."""
