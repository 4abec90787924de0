"""What a user installs: the wheel has both packages and every statement, and nothing else."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_has_two_packages_at_its_top(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "stateous",
        "stateous_supervisor",
    }


def test_the_wheel_has_every_statement_and_every_migration(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if name.endswith((".sql", ".py"))}
    for folder in ("sql", "migrations"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".sql", ".py"):
                assert f"stateous/{path.relative_to(ROOT)}" in packed
    in_checkout = len(list(ROOT.glob("sql/**/*.sql"))) + len(list(ROOT.glob("migrations/**/*.sql")))
    assert len([name for name in packed if name.endswith(".sql")]) == in_checkout > 0


def test_the_wheel_says_that_it_is_typed(wheel: zipfile.ZipFile) -> None:
    assert {"stateous/py.typed", "stateous_supervisor/py.typed"} <= set(wheel.namelist())


def test_the_wheel_brings_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    read = configparser.ConfigParser()
    read.read_string(wheel.read(points).decode())
    assert read["console_scripts"]["stateous"] == "stateous.cli.main:run"
    assert "supervise" in read["stateous.commands"]
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())
