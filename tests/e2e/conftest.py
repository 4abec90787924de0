"""The database that an end-to-end test runs on: once in an SQLite file, once in a Postgres of its own."""
