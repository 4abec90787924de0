"""The demo: makes the starter workflow, serves it, works on two orders, and shows what happened.

`make demo` runs it. Everything happens in a folder of its own, which is removed at the end; with
`DB=postgresql://...` the tokens stay in the schema `stateous_demo` of that database.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stateous.client import Client
from stateous.model.refusals import StateousError
from stateous.store.passwords import without_password

STATEOUS = str(Path(sys.executable).with_name("stateous"))
PATIENCE = 60.0  # seconds until something that must happen counts as failed
DB = "sqlite:///stateous.db"
SCHEMA = "stateous_demo"

ROUTINES = '''\
"""The work of two states: ORDER-1 is approved, ORDER-2 is sent back once and then needs a person."""

from __future__ import annotations

from contract import events, states
from stateous import Context, on_state


@on_state(states.draft)
def draft(ctx: Context) -> events.submitted:
    ctx.note(f"writing the offer for {ctx['title']}")
    return events.submitted()


@on_state(states.review)
async def review(ctx: Context) -> events.reviewed | None:
    if ctx.token == "ORDER-1":
        return events.reviewed(approved=True, note="looks good")
    if ctx.visit == 1:
        return events.reviewed(approved=False, note="the price is missing")
    ctx.note("asking a person")
    return None
'''


class Failed(Exception):
    """The demo did not go as it must."""


class Demo:
    """The processes of one demo and the folder in which they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = dict(os.environ)
        self.running: list[tuple[subprocess.Popen[bytes], Path]] = []

    def run(self, *arguments: str) -> None:
        """Run one command to its end and show it. Raises Failed when it ends with an error."""
        self.show(arguments)
        if (
            subprocess.run(
                [STATEOUS, *arguments], cwd=self.folder, env=self.env, check=False
            ).returncode
            != 0
        ):
            raise Failed(f"stateous {arguments[0]} ended with an error")

    def start(self, *arguments: str) -> Path:
        """Start a command that goes on; answers the file that gets what it says."""
        self.show(arguments, behind=" &")
        said = self.folder / f"{arguments[0]}.log"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [STATEOUS, *arguments], cwd=self.folder, env=self.env, stdout=log, stderr=log
            )
        self.running.append((process, said))
        return said

    def show(self, arguments: tuple[str, ...], *, behind: str = "") -> None:
        print(f"\n$ stateous {without_password(shlex.join(arguments))}{behind}", flush=True)

    def wait_for(self, what: str, happened: Callable[[], bool]) -> None:
        """Look until it happened. Raises Failed when it takes too long, or something ended before."""
        until = time.monotonic() + PATIENCE
        while not happened():
            for process, said in self.running:
                if process.poll() is not None:
                    raise Failed(f"{said.stem} ended too early")
            if time.monotonic() > until:
                raise Failed(f"waited {PATIENCE:.0f} seconds for {what}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop what runs, the last first, as Ctrl-C does. Raises Failed unless each ends well."""
        while self.running:
            process, said = self.running.pop()
            process.send_signal(signal.SIGINT)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Failed(f"{said.stem} did not stop") from None
            if code != 0:
                raise Failed(f"{said.stem} ended with exit code {code}")

    def abandon(self) -> None:
        """End whatever still runs, and show what it said."""
        for process, said in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
            print(f"\n--- what {said.stem} said ---\n{said.read_text()}", file=sys.stderr)


def play(demo: Demo, db: str) -> None:
    """The whole demo, step by step. Raises Failed."""
    demo.run("init", "workflow", "orders")
    demo.run("compile", "orders/flow.py")

    options = ("--listen", "127.0.0.1:0", "--db", db)
    if not db.startswith("sqlite"):
        remove_schema(db)
        options = (*options, "--schema", SCHEMA)
    said = demo.start("serve", "orders/build/orders.json", *options)
    demo.wait_for("the control plane", lambda: "serving on http" in said.read_text())
    url = said.read_text().partition("serving on ")[2].split()[0]
    print(f"serving on {url}")
    demo.env["STATEOUS_URL"] = url

    demo.run("init", "supervisor", url, "worker")
    (demo.folder / "worker" / "routines.py").write_text(ROUTINES)
    print("worker/routines.py now holds the work of draft and review")
    demo.start("supervise", "worker")

    demo.run("token", "start", "ORDER-1", "--context", "title=Two chairs")
    demo.run("token", "start", "ORDER-2", "--context", "title=A table")
    with Client(url) as client:
        demo.wait_for("ORDER-1", lambda: client.get("ORDER-1").status == "completed")
        demo.wait_for("ORDER-2", lambda: client.history("ORDER-2")[-1].kind == "task_waiting")

    demo.run("token", "show")
    demo.run("token", "history", "ORDER-1")
    demo.run("token", "history", "ORDER-2")
    print("\nORDER-1 is done. ORDER-2 waits for a person, who would end it with:")
    print("$ stateous token fire ORDER-2 reviewed --payload approved=true", flush=True)
    demo.stop()
    print("\nstopped; nothing is left running")


def remove_schema(db: str) -> None:
    """Remove what an earlier demo left in this Postgres, so that each begins alike."""
    import psycopg

    try:
        with psycopg.connect(db, autocommit=True) as connection:
            connection.execute("drop schema if exists stateous_demo, stateous_demo_views cascade")
    except psycopg.Error as error:
        raise Failed(f"the database says: {error}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", metavar="URL", default=os.environ.get("DB") or DB)
    db: str = parser.parse_args().db
    with tempfile.TemporaryDirectory(prefix="stateous-demo-") as folder:
        demo = Demo(Path(folder))
        try:
            play(demo, db)
        except KeyboardInterrupt:
            print("\nstopped by Ctrl-C", file=sys.stderr)
            return 130
        except (Failed, StateousError, OSError) as error:
            print(f"\nthe demo failed: {without_password(str(error))}", file=sys.stderr)
            return 1
        finally:
            demo.abandon()
    return 0


if __name__ == "__main__":
    sys.exit(main())
