"""The driver for Postgres."""
