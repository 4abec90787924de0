"""A workflow of three states under load: its routines write down what they do, and the ledger is held against it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from stateous.client import Client, Entry

STATES: Final = ("first", "second", "third")
GRAPH: Final[dict[str, Any]] = {
    "stateous": 1,
    "workflow": "load",
    "context": "Load",
    "states": {state: {"emits": ["went"], "retries": 50} for state in STATES},
    "events": {"went": {}},
    "transitions": [
        {"from": source, "to": target, **({} if source == "__start__" else {"on": "went"})}
        for source, target in zip(("__start__", *STATES), (*STATES, "__end__"), strict=True)
    ],
    "schemas": {
        "Load": {"type": "object", "properties": {"steps": {"type": "integer", "default": 0}}}
    },
}
CONTRACT: Final = """
from stateous import Event, StateRef

__workflow__ = "load"
__checksum__ = "{checksum}"

class events:
    class went(Event):
        name = "went"

class states:
    first = StateRef("first", emits=("went",))
    second = StateRef("second", emits=("went",))
    third = StateRef("third", emits=("went",))
"""
ROUTINES: Final = '''
"""Each attempt writes down, on the disk, that it began and how it ends."""

import asyncio
import json
import os
import pathlib
import time

from contract import events, states
from stateous import on_state

DONE = os.open(
    pathlib.Path(__file__).with_name("done.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
)


def writes(ctx, what):
    line = {"task": ctx.task, "attempt": ctx.attempt, "token": ctx.token, "what": what}
    os.write(DONE, json.dumps(line).encode() + b"\\n")
    os.fsync(DONE)


def begins(ctx):
    writes(ctx, "begun")
    ctx.note(f"{ctx.task}/{ctx.attempt}/begun")
    ctx.memory[f"attempt-{ctx.attempt}"] = ctx.visit
    return ctx.task % 7 * 0.02


def ends(ctx):
    ctx.note(f"{ctx.task}/{ctx.attempt}/ends")
    if ctx.attempt == 1 and ctx.task % 5 == 0:
        writes(ctx, "raised")
        raise RuntimeError("not at the first attempt")
    ctx["steps"] = ctx["steps"] + 1
    writes(ctx, "ended")
    return events.went


@on_state(states.first)
async def first(ctx):
    await asyncio.sleep(begins(ctx))
    return ends(ctx)


@on_state(states.second)
@on_state(states.third)
def others(ctx):
    time.sleep(begins(ctx))
    return ends(ctx)
'''

Attempt = tuple[int, int]
"""A task's number, and which attempt of it."""


def make_folder(path: Path, *, url: str, checksum: str) -> None:
    """A supervisor's folder."""
    path.mkdir()
    (path / "stateous.yaml").write_text(f"url: {url}\nname: box\ntasks: 8\n")
    (path / "contract.py").write_text(CONTRACT.format(checksum=checksum))
    (path / "routines.py").write_text(ROUTINES)


def done_in(folder: Path) -> dict[Attempt, list[str]]:
    """What the routines wrote down."""
    done: dict[Attempt, list[str]] = defaultdict(list)
    written = folder / "done.jsonl"
    for text in written.read_text().splitlines() if written.exists() else ():
        line = json.loads(text)
        done[line["task"], line["attempt"]].append(line["what"])
    return done


def reports_in(folder: Path) -> set[Attempt]:
    """The attempts whose reports are in the outbox of a supervisor that does not run."""
    database = sqlite3.connect(folder / ".stateous" / "outbox.db")
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = database.execute("SELECT task, body FROM messages WHERE kind = 'report'").fetchall()
    finally:
        database.close()
    return {(task, json.loads(body)["attempt"]) for task, body in rows}


class Ledger:
    """How each attempt ended by the ledger: `done`, `given back`, or the error; and what else it wrote."""

    def __init__(self) -> None:
        self.ends: dict[Attempt, str] = {}
        self.notes: Counter[str] = Counter()
        self.memory: Counter[tuple[str, str, str]] = Counter()
        self.state: dict[int, tuple[str, str]] = {}

    def read(self, token: str, entries: Sequence[Entry]) -> None:
        """Take a token's entries. Fails when an attempt begins before the one before it was said to be over."""
        held: dict[int, int] = {}
        last: dict[int, int] = {}
        for before, entry in zip((None, *entries), entries, strict=False):
            data = entry.data
            task: int = data.get("task", 0)
            match entry.kind:
                case "task_claimed":
                    assert task not in held, (token, entry)
                    assert data["attempt"] > last.get(task, 0), (token, entry)
                    held[task] = last[task] = data["attempt"]
                case "task_queued":
                    self.state[task] = (token, data["state"])
                    if task in held:
                        self.ends[task, held.pop(task)] = "given back"
                case "task_failed":
                    self.ends[task, held.pop(task)] = data["error"]
                case "task_retrying":
                    assert before is not None, token
                    assert (before.kind, before.data["task"]) == ("task_failed", task), token
                case "task_done":
                    assert before is not None, token
                    assert before.kind in ("event_accepted", "context_changed"), (token, before)
                    self.ends[task, held.pop(task)] = "done"
                case "note":
                    self.notes[data["text"]] += 1
                case "memory_set":
                    self.memory[token, data["state"], data["memory_key"]] += 1
                case _:
                    pass
        assert not held, token


class Line(msgspec.Struct, frozen=True):
    """A line of a supervisor's log."""

    event: str
    message: str
    task: int = 0
    code: str = ""


def lines_of(said: Iterable[str]) -> list[Line]:
    """The lines of a log for programs; the last one of a killed supervisor may be cut."""
    lines: list[Line] = []
    for text in said:
        try:
            lines.append(msgspec.json.decode(text, type=Line))
        except msgspec.DecodeError:
            continue
    return lines


def check(client: Client, *, tokens: Sequence[str], folder: Path) -> Ledger:
    """Every token has come to its end, and the ledger says of each attempt what its routine did."""
    ledger = Ledger()
    for token in tokens:
        ended = client.get(token)
        assert (ended.status, ended.context["steps"]) == ("completed", len(STATES)), ended
        ledger.read(token, client.history(token))
    done = done_in(folder)
    assert set(done) <= set(ledger.ends)
    for attempt, end in ledger.ends.items():
        _check_attempt(attempt, end, did=done.get(attempt, []))
    assert [note for note, count in ledger.notes.items() if count > 1] == []
    assert [memory for memory, count in ledger.memory.items() if count > 1] == []
    for (task, number), end in ledger.ends.items():
        if end == "done":
            assert ledger.notes[f"{task}/{number}/begun"] == 1, (task, number)
            assert ledger.notes[f"{task}/{number}/ends"] == 1, (task, number)
            assert ledger.memory[*ledger.state[task], f"attempt-{number}"] == 1, (task, number)
    finished = Counter(task for (task, _), end in ledger.ends.items() if end == "done")
    assert set(finished.values()) == {1}
    assert len(finished) == len(tokens) * len(STATES)
    return ledger


def _check_attempt(attempt: Attempt, end: str, *, did: list[str]) -> None:
    """Held against each other: what the ledger says of an attempt, and what it did."""
    ended_by_lease = "no heartbeat for" in end
    match did:
        case []:  # it was not begun
            assert ended_by_lease or end == "given back", (attempt, end)
        case ["begun"]:
            assert ended_by_lease, (attempt, end)
        case ["begun", "ended"]:
            assert ended_by_lease or end == "done", (attempt, end)
        case ["begun", "raised"]:
            assert ended_by_lease or "not at the first attempt" in end, (attempt, end)
        case _:
            raise AssertionError(f"{attempt} did {did}, and ended as {end}")
