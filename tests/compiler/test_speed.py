"""Compiling is quick, and loads the solver only for guards that need it. Times are those of the processor."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stateous.compiler.flow import load_flow

GUARDS = [
    (
        "payload.score > {n} and payload.kind == 'a'",
        "payload.score <= {n} and payload.kind in ['a', 'b']",
        "payload.kind == 'c' or payload.score > {n} and payload.kind == 'b'",
    ),
    (
        "ctx['amount'] < {n}",
        "{n} <= ctx['amount'] < {n}0 and payload.note",
        "ctx['amount'] >= {n}0",
    ),
    (
        "count('done') < 3 and payload.ratio >= 0.5",
        "count('done') >= 3",
        "count('done') < 3 and payload.ratio < 0.5",
    ),
    (
        "payload.score < ctx['amount']",
        "payload.score == ctx['amount']",
        "payload.score > ctx['amount'] and payload.note != 'skip'",
    ),
]
BEGIN = """\
from typing import Literal
import msgspec
from stateous import END, START, Workflow

class Order(msgspec.Struct):
    amount: int = 0

class Done(msgspec.Struct):
    score: int
    kind: Literal["a", "b", "c"]
    ratio: float = 0.5
    note: str | None = None

orders = Workflow("orders", context=Order)
done = orders.event("done", payload=Done)
states = [orders.state(f"s{number}", emits=[done]) for number in range(STATES)]
orders.transition(START, states[0])
"""


def flow(folder: Path, *, states: int) -> Path:
    """A flow with three guarded transitions from each state."""
    lines = [BEGIN.replace("STATES", str(states))]
    for number in range(states):
        ways = [f"states[{(number + 1) % states}]", f"states[{(number + 2) % states}]", "END"]
        for to, guard in zip(ways, GUARDS[number % len(GUARDS)], strict=True):
            when = guard.format(n=number + 1)
            lines.append(f"orders.transition(states[{number}], {to}, on=done, when={when!r})")
    (folder / "flow.py").write_text("\n".join(lines))
    return folder / "flow.py"


def test_200_states_and_600_guards_compile_in_5_seconds(tmp_path: Path) -> None:
    path = flow(tmp_path, states=200)
    before = time.process_time()
    loaded = load_flow(path)
    took = time.process_time() - before
    assert sum(map(len, loaded.graph().flows["orders"].routed.values())) == 600
    assert took < 5


def compiled(path: Path) -> tuple[set[str], float]:
    """The modules that the command loads, and how long a whole process works, Python's start included."""
    script = (
        "import json, sys, time\n"
        "from stateous.cli.main import command\n"
        f"assert command(['compile', {str(path)!r}]) == 0\n"
        "print(json.dumps([sorted(sys.modules), time.process_time()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    modules, took = json.loads(done.stdout.splitlines()[-1])
    return set(modules), took


def test_20_states_compile_in_a_second_with_the_start_of_python(tmp_path: Path) -> None:
    modules, took = compiled(flow(tmp_path, states=20))
    assert "z3" in modules
    assert took < 1.5


@pytest.mark.parametrize(
    "transitions",
    [
        "orders.transition(states[0], END, on=done)",
        """
orders.transition(states[0], END, on=done, when='payload.score > 3')
orders.transition(states[0], states[0], on=done, otherwise=True)
""",
    ],
)
def test_the_solver_is_not_loaded_where_it_has_nothing_to_solve(
    tmp_path: Path, transitions: str
) -> None:
    path = tmp_path / "flow.py"
    path.write_text(BEGIN.replace("STATES", "1") + transitions)
    modules, _ = compiled(path)
    assert not {"z3", "asyncio", "litestar", "psycopg", "igraph"} & modules
