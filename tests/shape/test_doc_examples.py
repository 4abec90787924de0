"""The examples of the docs are right: what is complete parses, graphs are served, guards hold, clients run."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

from stateous import END, START, Workflow
from stateous.compiler.checking import examine
from stateous.compiler.flow import load_flow
from stateous.compiler.scaffold import write_workflow
from stateous.model.graph import parse_graph
from stateous.model.guards import Scope, parse_guard
from tests.client.planes import serving
from tests.databases import new_database

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language. One that is no whole text has no language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def rows(page: str, header: str) -> list[tuple[str, str]]:
    """The two cells of each row below a header, the first without its backticks."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"{header}\n")[2]
    found = re.findall(r"^\| `(.*)` \| (\w+) \|$", text, re.MULTILINE)
    assert found, header
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_complete_parses(page: Path) -> None:
    for text in blocks(page, "python"):
        compile(text, page.name, "exec")
    for text in blocks(page, "json"):
        json.loads(text)


def test_the_graph_file_is_served() -> None:
    graphs = [json.loads(text) for text in blocks(ROOT / "docs/graph-file.md", "json")]
    for graph in graphs:
        assert parse_graph(graph).workflow == "orders"
    assert graphs


def test_the_workflow_of_getting_started_compiles_with_its_longer_state(tmp_path: Path) -> None:
    written, longer = blocks(ROOT / "docs/getting-started.md", "python")[:2]
    write_workflow("orders", tmp_path)
    flow = tmp_path / "flow.py"
    text = flow.read_text(encoding="utf-8")
    assert set(written.splitlines()) <= set(text.splitlines())
    last = f"{written.splitlines()[-1]}\n"
    flow.write_text(text.replace(last, longer), encoding="utf-8")
    assert list(load_flow(flow).graph().flows["orders"].states) == ["draft", "review", "fixing"]


def test_the_guards_parse() -> None:
    for text in blocks(ROOT / "docs/guards.md", "")[0].splitlines():
        parse_guard(text, joined="branches" in text)


@pytest.mark.parametrize(("guard", "holds"), rows("guards.md", "| guard | holds |"))
def test_a_guard_holds_as_the_docs_say(guard: str, holds: str) -> None:
    ctx: dict[str, Any] = {"n": 5, "word": "chairs", "tags": ["a", 1], "size": {"w": 2}}
    assert json.dumps(ctx) in (ROOT / "docs/guards.md").read_text(encoding="utf-8")
    found = parse_guard(guard, joined=False).holds(Scope(ctx=ctx, payload={}, counts={}))
    assert found is (holds == "yes")


class Review(msgspec.Struct):
    approved: bool
    score: Annotated[int, msgspec.Meta(ge=0, le=10)]


def proved_rows() -> list[tuple[str, str]]:
    """The guards of one state and event, and what `compile` says of them."""
    text = (ROOT / "docs/guards.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^\| (`.*) \| (\w+(?:: .*)?) \|$", text.partition("| `compile` says |")[2], re.MULTILINE
    )
    assert len(found) > 4
    return found


@pytest.mark.parametrize(("guards", "said"), proved_rows())
def test_compile_says_of_guards_what_the_docs_say(guards: str, said: str) -> None:
    flow = Workflow("orders")
    reviewed = flow.event("reviewed", payload=Review)
    review = flow.state("review", emits=[reviewed])
    flow.transition(START, review)
    for when, target in zip(guards.split(", "), (review, END), strict=True):
        if when == "otherwise":
            flow.transition(review, target, on=reviewed, otherwise=True)
        else:
            flow.transition(review, target, on=reviewed, when=when.strip("`"))
    checked = examine(flow)
    told = [f"error: {it}" for it in (*checked.problems, *checked.overlaps)]
    told += [f"warning: {it}" for it in checked.warnings]
    without_places = [it.partition(" (test_doc_examples.py, line")[0] for it in told]
    assert without_places == ([] if said == "nothing" else [said])


async def test_the_client_does_what_the_docs_say(tmp_path: Path) -> None:
    examples = blocks(ROOT / "docs/client.md", "python")
    assert len(examples) == 2
    with new_database("sqlite", tmp_path) as database:
        async with serving(database) as url:
            for text in examples:
                assert "http://127.0.0.1:8080" in text
                program = compile(text.replace("http://127.0.0.1:8080", url), "client.md", "exec")
                await asyncio.to_thread(exec, program, {"__name__": "example"})
