"""The example of the invoices: two runs at once, a worker killed in the middle, and each invoice is sent once."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stateous.client import Client
from tests.e2e.processes import PATIENCE, Running, Shell

EXAMPLE = Path(__file__).parents[2] / "examples" / "invoices"
INVOICES = [f"INV-{number}" for number in range(1, 13)]
RUNS = ("A", "B")
BEFORE_IT_IS_SENT = "/invoices/INV-7/customer"
AFTER_IT_IS_RECORDED = "/receipts/R-INV-3-1/filed"


class Gate:
    """Requests of some paths stop here until it is opened; who came is awaited."""

    def __init__(self, *paths: str) -> None:
        self._waiting = {path: threading.Event() for path in paths}
        self._open = threading.Event()
        self.passed: Counter[str] = Counter()

    def __call__(self, path: str) -> None:
        self.passed[path] += 1
        if path in self._waiting:
            self._waiting[path].set()
            assert self._open.wait(PATIENCE)

    def wait(self) -> None:
        for path, waiting in self._waiting.items():
            assert waiting.wait(PATIENCE), path

    def open(self) -> None:
        self._open.set()


@contextmanager
def billing(before: Gate) -> Generator[Any]:
    """The billing system of the example, answered by threads of this process."""
    spec = importlib.util.spec_from_file_location("billing", EXAMPLE / "billing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Billing(before=before) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            yield served
        finally:
            before.open()
            served.shutdown()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shutil.copytree(EXAMPLE, tmp_path / "invoices", ignore=shutil.ignore_patterns("build"))
    shell = Shell(tmp_path)
    shell.says("compile", "invoices/flow.py")
    return shell


def supervise(shell: Shell, name: str) -> Running:
    """A worker of the example, in a folder of its own."""
    folder = shell.folder / name
    shutil.copytree(shell.folder / "invoices" / "worker", folder)
    (folder / "stateous.yaml").write_text(f"url: {shell.url}\nname: {name}\ntasks: 8\n")
    shell.says("init", "supervisor", shell.url, name)
    return Running("supervise", name, cwd=shell.folder)


def until_ended(client: Client, *, but: int = 0) -> None:
    """Until all tokens have ended but so many."""
    deadline = time.monotonic() + PATIENCE
    while len(client.tokens(status="active")) > but:
        assert time.monotonic() < deadline, [
            (each.token, each.state) for each in client.tokens(status="active")
        ]
        time.sleep(0.05)


def test_two_runs_and_a_killed_worker_send_each_invoice_once(
    shell: Shell, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(BEFORE_IT_IS_SENT, AFTER_IT_IS_RECORDED)
    with billing(gate) as served:
        monkeypatch.setenv("BILLING", served.url)
        graph = "invoices/build/invoices.json"
        with (
            shell.serve(database_url, "--lease", "2s", graph=graph) as _,
            Client(shell.url) as client,
        ):
            with supervise(shell, "first") as first:
                first.says("first serves dispatch")
                for run in RUNS:
                    for invoice in INVOICES:
                        client.start(f"{run}-{invoice}", {"invoice": invoice})
                gate.wait()  # one invoice is acquired and not sent, another sent, recorded, and not reported
                with supervise(shell, "second") as second:
                    second.says("second serves dispatch")
                    # A worker that is killed between what it sent and its record would send again: nobody is there.
                    until_ended(client, but=2)
                    first.stop(signal.SIGKILL)
                    gate.open()
                    until_ended(client)
                    assert second.stop() == 0
            assert served.dispatched == dict.fromkeys(INVOICES, 1)
            items = client.stored_items(scope="element", limit=100).items
            assert [(each.item, each.entity, each.status) for each in items] == [
                (invoice, "invoice", "processed") for invoice in sorted(INVOICES)
            ]
            tokens = client.tokens(status="completed", limit=100)
            assert len(tokens) == len(RUNS) * len(INVOICES)
            # What the killed worker had acquired has failed, and was sent by another attempt.
            changes = client.item_history("element", "dispatch", "INV-7", "invoice")
            assert [each.status for each in changes] == [
                "processing",
                "failed",
                "processing",
                "processed",
            ]
            (changed,) = {each.token for each in changes}
            kinds = [entry.kind for entry in client.history(changed or "")]
            assert kinds.count("item_acquired") == 2
            assert kinds.count("item_processed") == 1
            # What it had recorded, and not reported, was passed over by the next attempt.
            assert gate.passed["/invoices/INV-3/customer"] == 1
