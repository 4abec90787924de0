"""A `stateous serve` process of the bench's own, on a free port, and the database behind it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

GRAPH = Path(__file__).parent / "orders.json"
STATEOUS = "from stateous.cli.main import run; run()"
_SERVING = re.compile(r"serving on http://(?P<host>[^:/]+):(?P<port>\d+)")


@contextmanager
def served(db: str, *, graph: Path = GRAPH) -> Generator[tuple[str, int, int]]:
    """Host, port and process id of a server on the database: `sqlite`, or the URL of a Postgres.

    What the bench wrote is gone afterwards: the file, or the schema of its own.
    """
    with tempfile.TemporaryDirectory(prefix="stateous-bench-") as folder:
        if db == "sqlite":
            with process(["--db", f"sqlite:///{folder}/bench.db"], folder, graph=graph) as found:
                yield found
            return
        schema = f"bench_{os.getpid()}"
        try:
            with process(["--db", db, "--schema", schema], folder, graph=graph) as found:
                yield found
        finally:
            drop(db, schema)


@contextmanager
def process(
    options: list[str], folder: str, *, graph: Path = GRAPH
) -> Generator[tuple[str, int, int]]:
    """Host, port and process id of a server with these options; it writes its log into the folder."""
    # A file, not a pipe: nobody reads on while the load runs.
    log = Path(folder) / "serve.log"
    command = [sys.executable, "-c", STATEOUS, "serve", str(graph), *options]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0"], stdout=written, stderr=subprocess.STDOUT
        )
    try:
        host, port = _listens(process, log)
        yield host, port, process.pid
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode != 0:
            sys.stderr.write(log.read_text()[-4000:])


def _listens(process: subprocess.Popen[bytes], log: Path) -> tuple[str, int]:
    for _ in range(600):
        found = _SERVING.search(log.read_text())
        if found is not None:
            return found["host"], int(found["port"])
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    sys.exit(f"the server did not start:\n{log.read_text()}")


def drop(db: str, schema: str) -> None:
    """Drop a schema of the bench's own."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    with psycopg.connect(db, autocommit=True) as connection:
        for name in (f"{schema}_views", schema):
            connection.execute(SQL("drop schema if exists {} cascade").format(Identifier(name)))
