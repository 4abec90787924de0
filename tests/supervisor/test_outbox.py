"""The outbox: what is promised of a file that a process may leave at any moment."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stateous_supervisor import outbox as outbox_module
from stateous_supervisor.lock import FolderTaken
from stateous_supervisor.outbox import Message, Outbox, OutboxFailed, Saved

FIRST_FORMAT = """
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL,
        token TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL
    ) STRICT;
    INSERT INTO messages (seq, task, token, kind, body) VALUES
        (4, 7, 'A', 'note', x'7b7d'), (5, 7, 'A', 'report', x'7b7d');
    PRAGMA user_version = 1;
"""


NO_ROOM = """
import resource, signal, sys
from pathlib import Path
from stateous_supervisor.outbox_file import Message, OutboxFailed, OutboxFile

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = OutboxFile(Path(sys.argv[1]), run="r")
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

def write(seq, size):
    body = b"x" * size
    message = Message(seq=seq, id=f"r-{seq}", task=1, token="A", kind="note", body=body)
    file.write([message], removed=[seq - 1])

for seq in range(1, 41):
    write(seq, 30_000)
try:
    write(41, 1_000_000)
except OutboxFailed as problem:
    print(problem)
write(42, 30_000)
"""
"""Writes more than the file has room for, but never has more than two messages in it; then one that is too large."""


def put(outbox: Outbox, body: bytes, *, task: int = 1) -> Message:
    message, saved = outbox.put(task=task, token="A", kind="note", body=body)
    saved.result(10)
    return message


def test_what_was_written_and_not_removed_is_left_in_order(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        messages = [put(outbox, str(n).encode(), task=n % 3 + 1) for n in range(10)]
        outbox.remove(messages[4], messages[7])
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [m for m in messages if m not in (messages[4], messages[7])]


def test_numbers_grow_although_messages_were_removed(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        first = put(outbox, b"1")
        outbox.remove(first)
    with Outbox(tmp_path) as outbox:
        assert outbox.left == []
        assert put(outbox, b"2").seq > first.seq


def test_a_message_takes_the_place_of_another_at_once(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        old = put(outbox, b"old")
        new, saved = outbox.put(task=1, token="A", kind="report", body=b"new", instead_of=old.seq)
        saved.result(10)
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [new]


def test_each_message_has_an_id_of_its_own_that_it_keeps(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        first, second = put(outbox, b"1"), put(outbox, b"2")
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [first, second]
        third = put(outbox, b"3")
    ids = [message.id for message in (first, second, third)]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,64}", each) for each in ids)


def test_a_file_that_came_back_from_a_backup_gives_no_id_twice(tmp_path: Path) -> None:
    Outbox(tmp_path).close()
    shutil.copytree(tmp_path / ".stateous", tmp_path / "backup")
    with Outbox(tmp_path) as outbox:
        before = put(outbox, b"before")
    shutil.rmtree(tmp_path / ".stateous")
    (tmp_path / "backup").rename(tmp_path / ".stateous")
    with Outbox(tmp_path) as outbox:
        after = put(outbox, b"after")
    assert before.seq == after.seq
    assert before.id != after.id


def test_messages_of_the_first_format_get_ids_and_keep_them(tmp_path: Path) -> None:
    hidden = tmp_path / ".stateous"
    hidden.mkdir()
    old = sqlite3.connect(hidden / "outbox.db")
    old.executescript(FIRST_FORMAT)
    old.close()
    with Outbox(tmp_path) as outbox:
        left = outbox.left
        new = put(outbox, b"3")
    assert [(each.seq, each.task, each.token, each.kind) for each in left] == [
        (4, 7, "A", "note"),
        (5, 7, "A", "report"),
    ]
    assert new.seq == 6
    assert len({each.id for each in [*left, new]}) == 3
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [*left, new]


def test_whoever_listens_is_told_in_order_what_is_on_the_disk_and_what_is_not(
    tmp_path: Path,
) -> None:
    told: list[Saved] = []
    with Outbox(tmp_path) as outbox:
        outbox.tell(told.extend)
        outbox.database.execute("PRAGMA max_page_count = 8")
        bodies = (b"1", b"x" * 100_000, b"3")
        for n, body in enumerate(bodies):
            outbox.put(task=1, token="A", kind="note", body=body, owner=n)
    assert [(each.owner, each.problem is None) for each in told] == [
        (0, True),
        (1, False),
        (2, True),
    ]
    assert [each.message.body for each in told] == list(bodies)


def test_room_that_only_the_log_of_earlier_writes_takes_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    ran = subprocess.run(
        [sys.executable, "-c", NO_ROOM, path], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"the outbox {path} cannot be written: ")
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT seq FROM messages").fetchall() == [(40,), (42,)]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered goes after a twentieth of a second, not after a whole one."""
    monkeypatch.setattr(outbox_module, "_REMOVED_WITHIN", 0.05)


@pytest.mark.usefixtures("soon")
def test_answered_messages_go_when_others_do_not_come(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        message, kept = put(outbox, b"1"), put(outbox, b"2")
        outbox.remove(message)
        other = sqlite3.connect(tmp_path / ".stateous" / "outbox.db")
        until = time.monotonic() + 30
        while other.execute("SELECT count(*) FROM messages").fetchone() != (1,):
            assert time.monotonic() < until
        assert other.execute("SELECT seq FROM messages").fetchone() == (kept.seq,)
        other.close()


def test_many_threads_write_and_nothing_is_lost(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:

        def write() -> None:
            for n in range(50):
                put(outbox, str(n).encode())

        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Outbox(tmp_path) as outbox:
        assert len(outbox.left) == 400


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    for n in range(1200):
        outbox.put(task=1, token="A", kind="note", body=str(n).encode())
    outbox.close()
    with Outbox(tmp_path) as outbox:
        assert [message.body for message in outbox.left] == [b"%d" % n for n in range(1200)]


def test_the_file_waits_for_the_disk(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        database = outbox.database
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_full_disk_fails_the_write_that_does_not_fit_and_no_other(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        first = put(outbox, b"fits")
        outbox.database.execute("PRAGMA max_page_count = 8")
        too_large = outbox.put(task=1, token="A", kind="note", body=b"x" * 100_000)[1]
        second = put(outbox, b"fits too")
        with pytest.raises(
            OutboxFailed, match=r"outbox\.db cannot be written: database or disk is full"
        ):
            too_large.result(10)
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [first, second]


def test_what_no_database_can_hold_fails_and_nothing_else(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        saved = [
            outbox.put(task=task, token=token, kind="note", body=b"")[1]
            for task, token in [(1, "A"), (2**63, "A"), (1, "\ud800"), (2, "B")]
        ]
        for failing in saved[1:3]:
            with pytest.raises(OutboxFailed, match="cannot be written"):
                failing.result(10)
    with Outbox(tmp_path) as outbox:
        assert [message.task for message in outbox.left] == [1, 2]


@pytest.mark.usefixtures("soon")
def test_a_disk_that_has_room_again_is_written_again(tmp_path: Path) -> None:
    with Outbox(tmp_path) as outbox:
        large = b"x" * 40_000
        fits = put(outbox, large)
        pages = outbox.database.execute("PRAGMA page_count").fetchone()[0]
        outbox.database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OutboxFailed, match="full"):
            put(outbox, large)
        outbox.remove(fits)
        small = put(outbox, b"a")  # it is written with what goes, or before it
        until = time.monotonic() + 30
        while True:
            try:
                last = put(outbox, large)
                break
            except OutboxFailed:
                assert time.monotonic() < until
    with Outbox(tmp_path) as outbox:
        assert outbox.left == [small, last]
        assert outbox.database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_second_supervisor_is_refused(tmp_path: Path) -> None:
    sentence = f"another supervisor runs on {tmp_path} now: stop it, or use another folder"
    with Outbox(tmp_path), pytest.raises(FolderTaken) as caught:
        Outbox(tmp_path)
    assert str(caught.value) == sentence
    Outbox(tmp_path).close()


WRITER = """
import sys
from pathlib import Path
from stateous_supervisor.outbox import Outbox

outbox = Outbox(Path(sys.argv[1]))
n = 0
while True:
    outbox.put(task=1, token="A", kind="note", body=b"%d" % n)[1].result()
    print(n, flush=True)
    n += 1
"""


def written_until_killed(folder: Path, *, lines: int) -> int:
    """Start a process that writes for ever, kill it in mid-write; how many writes it was told are on disk."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        last = -1
        for _ in range(lines):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                last = int(line)
    assert process.wait() == -signal.SIGKILL
    return last + 1


@pytest.mark.parametrize("lines", [1, 20, 57])
def test_a_killed_process_leaves_every_write_that_it_was_told_of(
    tmp_path: Path, lines: int
) -> None:
    acknowledged = written_until_killed(tmp_path, lines=lines)
    with Outbox(tmp_path) as outbox:
        bodies = [int(message.body) for message in outbox.left]
    assert bodies == list(range(len(bodies)))
    assert acknowledged <= len(bodies) <= acknowledged + 1


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    written_until_killed(tmp_path, lines=1)
    Outbox(tmp_path).close()


def test_a_forked_child_does_not_keep_the_folder(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    reader, writer = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=os.read, args=(reader, 1))
    child.start()
    outbox.close()
    Outbox(tmp_path).close()
    os.write(writer, b"x")
    child.join()
    os.close(reader)
    os.close(writer)


def test_an_outbox_of_a_newer_supervisor_is_left_alone(tmp_path: Path) -> None:
    Outbox(tmp_path).close()
    database = sqlite3.connect(tmp_path / ".stateous" / "outbox.db")
    database.execute("PRAGMA user_version = 99")
    database.close()
    for _ in range(2):  # the folder is free again after the refusal
        with pytest.raises(
            OutboxFailed, match=r"cannot open the outbox .*a newer supervisor made it"
        ):
            Outbox(tmp_path)


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    hidden = tmp_path / ".stateous"
    hidden.mkdir()
    (hidden / "outbox.db").write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(OutboxFailed, match=r"cannot open the outbox .*not a database"):
        Outbox(tmp_path)


def test_a_folder_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(OutboxFailed, match="No such file or directory"):
        Outbox(tmp_path / "nowhere")
