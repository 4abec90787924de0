"""What `stateous.testing` offers, and that it costs nothing until it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stateous.testing

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", stateous.testing.__all__)
def test_each_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(stateous.testing, name)
    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(stateous.testing)


def test_another_name_is_not() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'stateous\.testing' has no attribute 'World'"
    ):
        getattr(stateous.testing, "World")  # noqa: B009 - pyright would not let it pass otherwise


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    program = "import sys, stateous, stateous.testing; print('\\n'.join(sys.modules))"
    loaded = _run(program)
    assert "stateous.testing" in loaded
    assert not [
        name for name in loaded if name.startswith(("stateous.testing.", "stateous.engine"))
    ]


def test_a_rehearsal_needs_no_http_and_no_database() -> None:
    loaded = _run(
        "import sys; from stateous.testing import Rehearsal; print('\\n'.join(sys.modules))"
    )
    assert "stateous.testing.rehearsal" in loaded
    assert not {"litestar", "uvicorn", "psycopg", "sqlite3", "pytest", "z3"} & set(loaded)


def _run(program: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return ran.stdout.split()
