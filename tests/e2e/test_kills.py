"""Whoever is killed, at whatever moment: each token ends, no report is lost, and nothing is done twice unsaid."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from stateous.client import Client
from tests.clusters import Cluster
from tests.databases import Database
from tests.e2e.loads import GRAPH, Attempt, Line, check, done_in, lines_of, make_folder, reports_in
from tests.e2e.planes import SERVES
from tests.e2e.processes import Running

ROUNDS = int(os.environ.get("STATEOUS_SOAK", "3"))
"""How often each is killed."""
TOKENS = 16
"""How many are started for each kill."""
WORKED = r'"event": ?"task\.(claimed|reported)"'
REPORTED = r'"event": ?"task\.reported"'
LOST = {"attempt_over", "task_not_held"}
"""What a report may be refused for: its attempt was over."""


class World:
    """A control plane and a supervisor that work for as many tokens as come."""

    def __init__(self, folder: Path, *, db: str, seed: int) -> None:
        self.folder = folder
        self.worker_folder = folder / "worker"
        self._seed = seed
        self._chance = random.Random(seed)
        self.tokens: list[str] = []
        self.left: set[Attempt] = set()
        self._db = db
        self._stack = ExitStack()
        self._workers: list[Running] = []
        (folder / "graph.json").write_text(json.dumps(GRAPH))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._listen = f"127.0.0.1:{probe.getsockname()[1]}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.client = stack.enter_context(Client(f"http://{self._listen}", timeout=60))
            self._stack = stack
            self.serve()
            checksum = self.client.health().checksum
            make_folder(self.worker_folder, url=self.client.url, checksum=checksum)
            self.supervise()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(f"these moments come again with --randomly-seed={self._seed}")
        self._stack.__exit__(kind, error, traceback)

    def serve(self) -> None:
        """Start the control plane, on its own port again."""
        options = ("--listen", self._listen, "--db", self._db, "--lease", "4s", "--hold", "2s")
        serve = Running("serve", "graph.json", *options, "--standby", cwd=self.folder)
        self.plane = self._stack.enter_context(serve)
        self.plane.says(SERVES)

    def supervise(self) -> None:
        """Start the supervisor."""
        supervise = Running("supervise", "worker", "--log-format", "json", cwd=self.folder)
        self.worker = self._stack.enter_context(supervise)
        self._workers.append(self.worker)

    def start_tokens(self) -> None:
        """Start some more."""
        for _ in range(TOKENS):
            self.tokens.append(f"LOAD-{len(self.tokens)}")
            self.client.start(self.tokens[-1])

    def reach_some_moment(self) -> None:
        """Wait for some line of the work that was just begun, and for a part of a second more."""
        for _ in range(self._chance.randint(1, TOKENS * 5)):
            self.worker.says(WORKED)
        time.sleep(self._chance.uniform(0, 0.05))

    def kill_worker(self) -> None:
        self.worker.stop(signal.SIGKILL)
        self.left |= reports_in(self.worker_folder)
        self.supervise()

    def kill_plane(self) -> None:
        self.plane.stop(signal.SIGKILL)
        self.serve()

    def kept(self) -> set[Attempt]:
        """The attempts whose reports are known to have been in the outbox."""
        if len(self._workers) > 1:
            return self.left
        # Nobody kept this one from writing what a routine ended with.
        return {attempt for attempt, did in done_in(self.worker_folder).items() if len(did) > 1}

    def end(self) -> list[Line]:
        """Wait until each token has ended, then stop both; what the supervisors said."""
        while self.client.tokens(status="active", limit=1):
            self.worker.says(REPORTED)
        assert self.worker.stop(signal.SIGTERM) == 0
        return [line for worker in self._workers for line in lines_of(worker.said)]


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run of pytest, which is another one each time."""
    return int(str(request.config.getoption("randomly_seed")))


def rounds(world: World, kill: Callable[[], None]) -> None:
    """Kill somebody in each round; then all that was promised is looked at."""
    for _ in range(ROUNDS):
        world.start_tokens()
        world.reach_some_moment()
        kill()
    said = world.end()
    assert reports_in(world.worker_folder) == set()
    refused = [line for line in said if line.event.endswith(".refused")]
    assert {line.code for line in refused} <= LOST, refused
    assert [line for line in said if line.event.endswith((".broken", ".failed"))] == []
    ledger = check(world.client, tokens=world.tokens, folder=world.worker_folder)
    # A report that was kept is in the ledger, unless it was refused, and said to be, since it came too late.
    late = Counter(line.task for line in said if line.event in ("report.refused", "task.lost"))
    passed_over = Counter(
        attempt[0] for attempt in world.kept() if "no heartbeat for" in ledger.ends[attempt]
    )
    assert passed_over <= late, passed_over - late
    assert world.plane.stop(signal.SIGTERM) == 0


def test_a_supervisor_that_is_killed(tmp_path: Path, database: Database, seed: int) -> None:
    with World(tmp_path, db=database.url, seed=seed) as world:
        rounds(world, world.kill_worker)
        assert world.left  # or nothing was looked at


def test_a_control_plane_that_is_killed(tmp_path: Path, database: Database, seed: int) -> None:
    with World(tmp_path, db=database.url, seed=seed) as world:
        rounds(world, world.kill_plane)


@pytest.mark.postgres
def test_a_postgres_that_is_killed(tmp_path: Path, cluster: Cluster, seed: int) -> None:
    with World(tmp_path, db=cluster.url, seed=seed) as world:

        def kill() -> None:
            cluster.kill()
            cluster.start_again()

        rounds(world, kill)
