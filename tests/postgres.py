"""A real Postgres for the tests: one that is named, one in Docker, or one from binaries; started once."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.clusters import BINARIES_VARIABLE, Cluster, Marked, run_as_user

URL_VARIABLE = "STATEOUS_TEST_POSTGRES"
_STARTED = "postgres.json"


class Server:
    """A running server. `url` names a database in which others can be created."""

    def __init__(self, url: str, **how_to_stop: Any) -> None:
        self.url = url
        self.how_to_stop = how_to_stop

    def url_of(self, database: str) -> str:
        """The URL of another database of this server."""
        before, _, after = self.url.partition("://")
        address, slash, rest = after.partition("/")
        _, mark, query = rest.partition("?")
        return f"{before}://{address}{slash or '/'}{database}{mark}{query}"

    def run(self, statement: sql.Composed) -> None:
        """Run a statement in the server's own database, in autocommit."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def make_database(self, name: str) -> None:
        """Make an empty database."""
        self.run(sql.SQL("create database {}").format(sql.Identifier(name)))

    def copy_database(self, name: str, *, template: str) -> str:
        """Make a database that is a copy of another; its URL."""
        self.run(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected to it."""
        self.run(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@contextmanager
def alone_in(folder: Path) -> Generator[None, None, None]:
    """One test process at a time."""
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def server_in(folder: Path) -> Server:
    """The server that the processes of this test run share: the first that asks starts it."""
    Marked.check()
    named = os.environ.get(URL_VARIABLE)
    if named:
        return Server(named)
    with alone_in(folder):
        noted = folder / _STARTED
        if noted.is_file():
            return Server(**json.loads(noted.read_text()))
        in_docker = not os.environ.get(BINARIES_VARIABLE) and _docker_answers()
        server = _docker_server() if in_docker else _started_server()
        noted.write_text(json.dumps({"url": server.url, **server.how_to_stop}))
        return server


def version_in(folder: Path) -> str | None:
    """The version of the server of this test run, as it says it itself; None when no test asked for one."""
    noted = folder / _STARTED
    url = os.environ.get(URL_VARIABLE)
    if not url and noted.is_file():
        url = json.loads(noted.read_text())["url"]
    if not url:
        return None
    with psycopg.connect(url) as connection:
        return connection.info.parameter_status("server_version")


def drop_template_in(folder: Path) -> None:
    """Drop the template of this run from a server that will go on."""
    noted = folder / "template"
    if noted.is_file() and os.environ.get(URL_VARIABLE):
        Server(os.environ[URL_VARIABLE]).drop_database(noted.read_text())


def stop_server_in(folder: Path) -> None:
    """Stop what `server_in` started, if it did."""
    noted = folder / _STARTED
    if not noted.is_file():
        return
    how = json.loads(noted.read_text())
    noted.unlink()
    if "container" in how:
        import docker

        client = docker.from_env()
        client.containers.get(how["container"]).remove(force=True, v=True)
        client.close()
    else:
        data = Path(how["data"])
        run_as_user(data, [how["pg_ctl"], "-D", str(data), "-m", "immediate", "stop"])
        shutil.rmtree(data.parent, ignore_errors=True)


def _docker_answers() -> bool:
    if not (os.environ.get("DOCKER_HOST") or Path("/var/run/docker.sock").exists()):
        return False
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env()
    except DockerException:
        return False
    client.close()
    return True


def _docker_server() -> Server:
    # The run's last process removes the container; a reaper would do it when the first one ends.
    os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
    from testcontainers.postgres import PostgresContainer

    container = PostgresContainer("postgres:18-alpine", driver=None).with_command(
        "postgres -c fsync=off -c max_connections=300"
    )
    container.start()
    return Server(container.get_connection_url(), container=container.get_wrapped_container().id)


def _started_server() -> Server:
    cluster = Cluster.made()
    cluster.start()
    return Server(cluster.url, data=str(cluster.data), pg_ctl=cluster.pg_ctl)
