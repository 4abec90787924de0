"""The command as a process: what it says, how it ends, and what it does not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STATEOUS = str(Path(sys.executable).with_name("stateous"))
HEAVY = {"litestar", "alembic", "sqlalchemy", "psycopg", "z3", "aiohttp", "uvicorn", "asyncio"}


def stateous(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STATEOUS, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )


def loaded_by(*arguments: str) -> set[str]:
    script = (
        "import json, sys\n"
        "from stateous.cli.main import command\n"
        f"command({list(arguments)!r})\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    done = stateous("--help")
    assert done.returncode == 0
    for name in ("compile", "graph", "init", "serve", "supervise", "token", "items", "db", "clock"):
        assert name in done.stdout
    assert not loaded_by("--help") & (HEAVY | {"rich"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "show", "T", "--url", "http://127.0.0.1:1", "--help"),
        ("token", "show", "T", "--url", "ftp://nowhere"),
        ("clock", "advance", "6h", "--url", "ftp://nowhere"),
        ("compile", "nowhere/flow.py"),
        ("graph", "nowhere.json"),
        ("serve", "nowhere.json"),
        ("serve", "nowhere.json", "--listen", "nonsense"),
    ],
)
def test_commands_load_only_what_they_need(arguments: tuple[str, ...]) -> None:
    assert not loaded_by(*arguments) & HEAVY


def test_no_arguments_show_the_help() -> None:
    assert stateous().stdout == stateous("--help").stdout


def test_the_version_is_said() -> None:
    assert stateous("--version").stdout.startswith("stateous ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve",), "error: missing argument 'GRAPH'."),
        (("serve", "g.json", "--nonsense"), "error: no such option: --nonsense"),
        (("nonsense",), "error: no such command 'nonsense'."),
        (("token",), "error: missing command."),
        (("serve", "g.json", "--clock", "sundial"), "error: invalid value for '--clock': "),
        (("clock", "advance"), "error: missing argument 'TIME'."),
        (("clock", "advance", "-1"), "error: no such option: -1"),
        (("token", "report", "x", "e"), "error: invalid value for 'TASK': "),
    ],
)
def test_a_command_line_that_cannot_be_read_is_said_in_one_line(
    arguments: tuple[str, ...], said: str
) -> None:
    done = stateous(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "nowhere.json"), "error: nowhere.json: no such file or directory\n"),
        (
            ("serve", "g.json", "--listen", "8080"),
            "error: --listen takes HOST:PORT, for example 127.0.0.1:8080, not '8080'\n",
        ),
        (("token", "start", "T", "--context", "{"), "error: the value of --context is not JSON"),
        (
            ("token", "start", "T", "--context", "word"),
            "error: --context takes a JSON object, key=",
        ),
        (("token", "start", "T", "--context", "@no.json"), "error: no.json: no such file or "),
        (
            ("token", "report", "1"),
            "error: a report takes an EVENT or --failed TEXT, one of the two",
        ),
        (
            ("clock", "advance", "6 hours"),
            "error: the clock is moved by a time, for example 6h or 90 (seconds): '6 hours' is not a",
        ),
        (("serve", "g.json", "--tenant", "a/b"), "error: --tenant takes a name of 1 to 128"),
        (("clock", "advance", "315360001"), "error: the clock is moved by a time, for example"),
        (("init", "supervisor", "no.json", "folder"), "error: no.json: no such file or directory"),
    ],
)
def test_an_expected_error_is_one_line_and_exit_code_1(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = stateous(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_graph_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text("{")
    done = stateous("serve", "g.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: g.json is not a graph file: it is not JSON (")


GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "w",
    "states": {"s": {"emits": ["e"]}},
    "events": {"e": {}},
    "transitions": [
        {"from": "__start__", "to": "s"},
        {"from": "s", "to": "__end__", "on": "e"},
    ],
    "schemas": {},
}


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "show", "--url", "ftp://me:pa%ss@127.0.0.1:1"),
        ("serve", "g.json", "--db", "postgresql://me:pa%ss@127.0.0.1:1/db"),
        ("serve", "g.json", "--db", "postgresql://me@127.0.0.1:1/db?password=pa%ss"),
        ("serve", "g.json", "--db", "mysql://me:pa%ss@127.0.0.1:1/db"),
        ("serve", "g.json", "--db", "postgresql://me:pa%73s@127.0.0.1:1/db"),
    ],
)
def test_no_error_shows_a_password(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps(GRAPH))
    listen = ("--listen", "127.0.0.1:0") if arguments[0] == "serve" else ()
    done = stateous(*arguments, *listen, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    for part in ("pa%", "%ss", "pass"):
        assert part not in done.stderr.replace("password", "")


def test_serve_says_what_to_do_with_a_workflow_that_is_not_compiled(tmp_path: Path) -> None:
    assert stateous("init", "workflow", "orders", cwd=tmp_path).returncode == 0
    for source in ("orders", "orders/flow.py"):
        done = stateous("serve", source, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr == (
            f"error: {source} is not a graph file: run stateous compile {source}, "
            "and serve the file that it writes\n"
        )


def test_who_stops_reading_ends_the_command_quietly() -> None:
    with subprocess.Popen(
        [STATEOUS, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) in (0, 1)
