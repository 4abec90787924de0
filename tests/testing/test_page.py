"""docs/testing.md is right: its examples are tests, and they pass where a reader would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import stateous.testing
from stateous.compiler.contract import contract_of
from stateous.compiler.flow import load_flow
from stateous.compiler.scaffold import write_workflow
from stateous.testing import Done, Rehearsal, RehearsedToken
from stateous.testing.routines import Given

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "testing.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_examples_pass(tmp_path: Path) -> None:
    _make_folders(tmp_path)
    examples = blocks(PAGE, "python")
    for number, text in enumerate(examples):
        (tmp_path / f"test_{number}.py").write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("".join(blocks(PAGE, "toml")), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    count = sum(text.count("def test_") for text in examples)
    assert f"{count} passed" in ran.stdout
    assert count >= 10


def _make_folders(folder: Path) -> None:
    """The folders `orders` and `worker`, as a reader of getting started has them."""
    write_workflow("orders", folder / "orders")
    worker = folder / "worker"
    worker.mkdir()
    graph = load_flow(folder / "orders" / "flow.py").graph()
    (worker / "contract.py").write_text(contract_of(graph), encoding="utf-8")
    started = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    (routines,) = [text for text in blocks(started, "python") if "@on_state(states.draft)" in text]
    (worker / "routines.py").write_text(routines, encoding="utf-8")


def test_the_page_names_everything() -> None:
    for name in stateous.testing.__all__:
        if name not in {
            "Done",
            "RehearsedToken",
            "Reported",
            "Scheduled",
        }:  # they are what is returned
            assert f"`{name}" in PAGE or f" {name}" in PAGE, name
    for field in Done.__struct_fields__:
        assert f"`done.{field}`" in PAGE, field
    for name in vars(RehearsedToken):
        assert name.startswith("_") or f"`token.{name}`" in PAGE, name
    for name in vars(Rehearsal):
        assert name.startswith("_") or re.search(rf"`(await )?world\.{name}[(`]", PAGE), name
    for name in Given.__annotations__:
        assert f"`{name}`" in PAGE, name
