"""The supervisor's log: sentences for people, JSON for programs; and nothing of it can hurt a terminal or the work."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stateous_supervisor import stderr as stderr_module
from stateous_supervisor.log import Log, LogFormat, open_log
from stateous_supervisor.outcome import LONGEST_TRACEBACK
from stateous_supervisor.stderr import Stderr

ROOT = Path(__file__).parents[2]


def logged(log_format: LogFormat) -> tuple[Log, list[str]]:
    lines: list[str] = []
    return open_log(log_format, write=lines.append), lines


def test_a_line_for_people_is_the_time_and_the_sentence() -> None:
    log, lines = logged("text")
    log.info("task 2: draft of A, attempt 1", kind="task.claimed", task=2, token="A")
    assert re.fullmatch(r"\d\d:\d\d:\d\d  task 2: draft of A, attempt 1", lines[0])


def test_a_line_for_programs_is_an_object_that_can_be_counted() -> None:
    log, lines = logged("json")
    log.warning("task 2: draft of A, attempt 1", kind="task.claimed", task=2, token="A")
    line: dict[str, Any] = json.loads(lines[0])
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "warning",
        "event": "task.claimed",
        "message": "task 2: draft of A, attempt 1",
        "task": 2,
        "token": "A",
    }


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_character_that_a_terminal_acts_on_is_written(log_format: LogFormat) -> None:
    log, lines = logged(log_format)
    nasty = "a\x1b[2Jb\x9b31mc\x00d\re\nf\ud800g\x7f\u202eh"
    log.error(nasty, kind=nasty, token=nasty, traceback=f"one{nasty}\ntwo")
    assert re.search(r"a\\(u00|x)1b\[2Jb\\(u00|x)9b31mc", lines[0])
    for line in lines[0].split("\n"):
        assert line.isprintable()


def test_an_exception_is_shown_below_and_cut() -> None:
    text, lines = logged("text")
    as_json, objects = logged("json")
    broken = RuntimeError("x" * 5_000_000)
    text.warning("it raised", exc_info=broken)
    as_json.warning("it raised", exc_info=broken)
    first, *below = lines[0].split("\n")
    assert first.endswith("  it raised")
    assert below[0].startswith("RuntimeError: xxx")
    assert len(lines[0]) < LONGEST_TRACEBACK + 100
    assert len(json.loads(objects[0])["traceback"]) == LONGEST_TRACEBACK


def test_a_value_that_json_cannot_hold_is_said_all_the_same() -> None:
    log, lines = logged("json")
    log.info("begun", what={1, 2}, who=object)
    assert json.loads(lines[0])["what"] == "{1, 2}"


def test_lines_go_to_the_file_that_stderr_was_also_when_it_is_closed() -> None:
    reading, writing = os.pipe()
    stderr = Stderr(writing)
    os.close(writing)
    stderr.write("é")
    stderr.close()
    stderr.write("too late")
    assert os.read(reading, 100) == "é\n".encode()
    assert os.read(reading, 100) == b""
    os.close(reading)


def test_a_log_that_nobody_reads_does_not_stop_the_work() -> None:
    reading, writing = os.pipe()
    stderr = Stderr(writing)
    os.close(reading)
    stderr.write("nobody hears this")
    stderr.close()
    os.close(writing)
    Stderr(writing).write("stderr was closed before")


def test_a_log_whose_reader_sleeps_is_written_later_and_in_order() -> None:
    reading, writing = os.pipe()
    stderr = Stderr(writing)
    os.close(writing)
    lines = [f"{number} {'x' * 9_000}" for number in range(100)]
    for line in lines:  # a pipe takes 64 KiB
        stderr.write(line)
    with os.fdopen(reading) as reader:
        assert [reader.readline() for _ in lines] == [f"{line}\n" for line in lines]
        stderr.close()
        assert reader.read() == ""


def test_a_log_that_is_never_read_takes_no_memory_and_does_not_keep_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stderr_module, "_PATIENCE", 0.01)
    reading, writing = os.pipe()
    stderr = Stderr(writing)
    os.close(writing)
    for _ in range(100):
        stderr.write("x" * 100_000)
    stderr.close()
    with os.fdopen(reading) as reader:  # and so the thread ends
        assert len(reader.read(4_000_000)) == 4_000_000


def kinds_of(path: Path) -> Iterator[tuple[str, str | None]]:
    """Each call of the log in a file, and the kind that it gives, None when it gives none."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            said = ast.unparse(node.func)
            if said.endswith(("log.info", "log.warning", "log.error")):
                kinds = [word.value for word in node.keywords if word.arg == "kind"]
                kind = ast.unparse(kinds[0]).replace("'", "") if kinds else None
                yield f"{path.name}, line {node.lineno}", kind


def test_each_line_of_the_log_has_a_kind_that_the_docs_name() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    written = [
        each
        for path in (ROOT / "supervisor" / "stateous_supervisor").glob("*.py")
        for each in kinds_of(path)
    ]
    assert len(written) > 15
    assert [where for where, kind in written if kind is None] == []
    told = {kind for _, kind in written if kind is not None}
    told.remove("f{message.kind}.refused")
    told |= {"report.refused", "note.refused", "memory.refused"}
    assert {kind for kind in told if f"`{kind}`" not in page} == set()
