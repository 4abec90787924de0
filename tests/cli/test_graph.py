"""`stateous graph` and `stateous token show --graph`: pictures from each kind of source."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stateous.cli.main import command
from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from tests.api.serving import served
from tests.compiler.mermaid_reading import Chart, read_chart
from tests.compiler.pictures import Picture
from tests.databases import new_database
from tests.engine.graphs import ORDERS, parallel

OVERLAPPING = """
import msgspec
from stateous import END, START, Workflow

class Review(msgspec.Struct):
    score: int

w = Workflow("reviews")
reviewed = w.event("reviewed", payload=Review)
review = w.state("review", emits=[reviewed])
again = w.state("again", emits=[reviewed])
w.transition(START, review)
w.transition(review, END, on=reviewed, when="payload.score > 3")
w.transition(review, again, on=reviewed, when="payload.score < 6")
w.transition(again, END, on=reviewed)
"""  # fmt: skip


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What the command says on stdout, or on stderr when it is to fail."""
    assert command(list(arguments)) == code
    said = capsys.readouterr()
    assert (said.out if code else said.err) == ""
    return said.err if code else said.out


def test_a_graph_file_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(ORDERS))
    chart = read_chart(said_by(capsys, "graph", "orders.json"))
    assert list(chart.nodes) == ["orders_START", "orders_draft", "orders_review", "orders_END"]
    assert len(chart.links) == 5  # two of six lead from review to draft


def test_a_flow_and_its_folder_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    said_by(capsys, "init", "workflow", "orders")
    drawn = said_by(capsys, "graph", "orders/flow.py")
    assert said_by(capsys, "graph", "orders") == drawn
    assert said_by(capsys, "graph", "orders/build/orders.json") == drawn
    assert '|"reviewed<br/>when payload.approved"| orders_END' in drawn


def test_guards_that_overlap_are_drawn_and_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flow.py").write_text(OVERLAPPING)
    chart = read_chart(said_by(capsys, "graph", "."))
    assert chart.of_class("clash") == ["on reviewed, two guards hold when"]
    assert [chart.links[number][2] for number in chart.styles] == [
        "reviewed\nwhen payload.score > 3",
        "reviewed\nwhen payload.score < 6",
    ]
    assert said_by(capsys, "graph", "flow.py", "--svg", "out/flow.svg") == "wrote out/flow.svg\n"
    picture = Picture((tmp_path / "out" / "flow.svg").read_text(encoding="utf-8"))
    assert len(picture.rectangles("note-box")) == 1


def test_another_mistake_in_a_flow_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flow.py").write_text(OVERLAPPING.replace("w.transition(again", "# "))
    said = said_by(capsys, "graph", "flow.py", code=1)
    assert said.startswith("error: workflow 'reviews' is not valid:\n")
    assert "state 'again' has no way out" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("graph", "nowhere"), "error: nowhere: no such file or directory\n"),
        (("graph", "."), "error: . has no flow.py\n"),
        (("graph", "nowhere.py"), "error: cannot read nowhere.py: there is no such file\n"),
        (("graph", "g.json"), "error: g.json is not a graph file: "),
        (
            ("graph", "http://127.0.0.1:1"),
            "error: cannot reach the control plane at http://127.0.0.1:1 (",
        ),
        (("graph", "ok.json", "--svg", "ok.json/x.svg"), "error: cannot write ok.json/x.svg: "),
        (("graph", "ok.json", "--svg", "."), "error: cannot write .: "),
        (("token", "show", "--graph"), "error: a picture is of one token: add its ID to --graph\n"),
    ],
)
def test_an_expected_error_is_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "g.json").write_text("{}")
    (tmp_path / "ok.json").write_text(json.dumps(ORDERS))
    told = said_by(capsys, *arguments, code=1)
    assert told.startswith(said)
    assert len(told.splitlines()) == 1


def test_a_picture_without_guards_to_prove_loads_no_solver(tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(ORDERS))
    script = (
        "import sys\n"
        "from stateous.cli.main import command\n"
        "assert command(['graph', 'orders.json']) == 0\n"
        "assert command(['graph', 'orders.json', '--svg', 'orders.svg']) == 0\n"
        "assert not {'z3', 'litestar', 'asyncio'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def db(tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    with new_database("sqlite", tmp_path) as database:
        yield database.url


@asynccontextmanager
async def plane_of(document: Any, db: str) -> AsyncGenerator[str]:
    """The URL of a control plane of this graph on the database with the URL `db`."""
    plane = await open_plane(graph=parse_graph(document), db=db)
    try:
        async with served(plane) as caller:
            yield f"http://{caller.host}:{caller.port}"
    finally:
        await plane.stop()


async def stateous(capsys: pytest.CaptureFixture[str], url: str, *arguments: str) -> str:
    given = arguments if arguments[0] == "graph" else (*arguments, "--url", url)
    assert await asyncio.to_thread(command, list(given)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def styled(chart: Chart) -> dict[str, list[str]]:
    """The labels of what stands out, by how."""
    styles = ("visited", "here", "failed")
    return {
        style: [chart.label(node) for node in chart.classes[style]]
        for style in styles
        if style in chart.classes
    }


async def test_a_control_plane_is_drawn_and_where_its_tokens_are(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with plane_of(ORDERS, db) as url:
        chart = read_chart(await stateous(capsys, url, "graph", url))
        assert "orders_draft" in chart.nodes

        await stateous(capsys, url, "token", "start", "T", "--context", "title=x")
        await stateous(capsys, url, "token", "fire", "T", "leave")
        await stateous(capsys, url, "token", "fire", "T", "submitted")
        chart = read_chart(await stateous(capsys, url, "token", "show", "T", "--graph"))
        assert styled(chart) == {
            "visited": ["draft\nentered 2 times"],
            "here": ["review\nentered once\nhere now"],
        }

        await stateous(capsys, url, "token", "pause", "T")
        chart = read_chart(await stateous(capsys, url, "token", "show", "T", "--graph"))
        assert styled(chart)["here"] == ["review\nentered once\npaused here"]

        await stateous(capsys, url, "token", "resume", "T")
        await stateous(capsys, url, "token", "fire", "T", "reviewed", "--payload", "approved=true")
        chart = read_chart(await stateous(capsys, url, "token", "show", "T", "--graph"))
        assert styled(chart) == {
            "visited": ["draft\nentered 2 times", "review\nentered once\nlast state"],
            "here": ["END\nended here"],
        }


async def test_a_child_is_shown_in_its_own_workflow(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with plane_of(parallel(nested=True), db) as url:
        await stateous(capsys, url, "token", "start", "T.reviews.1.style")
        await stateous(capsys, url, "token", "fire", "T.reviews.1.style", "ready")
        parent = "T.reviews.1.style.reviews.1"
        for child, node in (
            (f"{parent}.security", "security_look"),
            (f"{parent}.outer", "outer_inner"),
            (f"{parent}.outer.inner.1.style", "style_look"),
            ("T.reviews.1.style", "changes_reviews"),
        ):
            chart = read_chart(await stateous(capsys, url, "token", "show", child, "--graph"))
            assert chart.classes["here"] == [node]


async def test_a_token_of_another_graph_is_not_drawn_into_this_one(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with plane_of(ORDERS, db) as url:
        await stateous(capsys, url, "token", "start", "T", "--context", "title=x")
        await stateous(capsys, url, "token", "cancel", "T")
    other = {**parallel(), "workflow": "orders"}
    async with plane_of(other, db) as url:
        arguments = ["token", "show", "T", "--graph", "--url", url]
        assert await asyncio.to_thread(command, arguments) == 1
        assert capsys.readouterr().err == (
            "error: T is in draft, which the workflow that is served now does not have\n"
        )
