"""The docs name everything that a user meets: commands, routes, fields, refusal codes, ledger kinds, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stateous.api import about, flows, items, shapes, tasks, testing, tokens
from stateous.api.refusals import STATUS
from stateous.client.errors import BY_CODE
from stateous.model.sentences import SENTENCES
from tests.databases import SHARED_VARIABLE

ROOT = Path(__file__).parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
SOURCES = ("stateous", "supervisor")
HANDLERS = [
    *tokens.ROUTES,
    *tasks.ROUTES,
    *flows.ROUTES,
    *items.ROUTES,
    *about.ROUTES,
    *testing.ROUTES,
]


def sources(*folders: str) -> Iterator[str]:
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            yield path.read_text(encoding="utf-8")


def recorded_kinds() -> set[str]:
    """Every kind that the engine writes, read from its source: `record(token, "kind", …)`."""
    return {
        kind
        for source in sources("stateous/engine")
        for kind in re.findall(r"\brecord\(\s*[\w.]+,\s*\"(\w+)\"", source)
    }


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_each_refusal_code_is_in_the_docs(code: str) -> None:
    assert f"| `{code}`" in DOCS["http.md"]


def test_each_refusal_has_the_status_that_the_docs_say() -> None:
    for refusal, status in STATUS.items():
        row = rf"^\| `{refusal.code}` \| [\d, ]*\b{status}\b[\d, ]* \|"
        assert re.search(row, DOCS["http.md"], re.MULTILINE), refusal


@pytest.mark.parametrize("kind", sorted(SENTENCES))
def test_each_ledger_kind_is_in_the_docs(kind: str) -> None:
    assert f"| `{kind}` |" in DOCS["ledger.md"]


def test_each_kind_that_the_engine_records_has_its_sentence() -> None:
    kinds = recorded_kinds()
    assert len(kinds) > 15
    assert kinds <= SENTENCES.keys()


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.handler_name)
def test_each_route_is_in_the_docs(handler: object) -> None:
    for path in getattr(handler, "paths"):  # noqa: B009 - Litestar's handlers are hard to type
        shown = path.replace("{token:str}", "{id}").replace("{task:str}", "{id}")
        shown = shown.replace("{event:str}", "{event}")
        shown = shown.replace("{correlation:str}", "{correlation}")
        for method in getattr(handler, "http_methods"):  # noqa: B009
            assert f"`{method} {shown}`" in DOCS["http.md"]


@pytest.mark.parametrize(
    "shape", [*shapes.SHAPES, *shapes.FOR_TESTS], ids=lambda shape: shape.__name__
)
def test_each_field_of_a_body_and_of_an_answer_is_in_the_docs(shape: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(shape):
        assert re.search(rf"`[^`]*\b{field.encode_name}\b[^`]*`", DOCS["http.md"]), field


def test_each_parameter_of_a_route_is_in_the_docs() -> None:
    for name in ("status", "limit", "parent", "after", "Idempotency-Key"):
        assert re.search(rf"`[^`]*{name}[^`]*`", DOCS["http.md"]), name


def test_each_command_and_option_is_in_the_docs() -> None:
    import typer

    from stateous.cli.main import app

    missing: list[str] = []

    def look(command: object, words: str) -> None:
        for parameter in getattr(command, "params", []):
            for name in getattr(parameter, "opts", []):
                if name.startswith("--") and name != "--help":
                    missing.extend([f"{words} {name}"] if name not in DOCS["cli.md"] else [])
        commands: dict[str, object] = getattr(command, "commands", {})
        for name, inner in commands.items():
            look(inner, f"{words} {name}")
        if not commands and f"`{words}" not in DOCS["cli.md"]:
            missing.append(words)

    look(typer.main.get_command(app), "stateous")
    assert missing == []


def test_each_environment_variable_is_in_the_docs() -> None:
    names = {
        name
        for source in sources(*SOURCES, "tests", "examples", "bench")
        for name in re.findall(r"\"(STATEOUS_[A-Z_]+)\"", source)
        if name != SHARED_VARIABLE  # between the processes of one run of the tests
    }
    assert names >= {"STATEOUS_URL", "STATEOUS_DB", "STATEOUS_TEST_POSTGRES"}
    for name in names:
        assert f"`{name}`" in DOCS["settings.md"], name


def test_each_setting_of_a_supervisor_is_in_the_docs() -> None:
    from stateous_supervisor.folder import SETTINGS

    for name in SETTINGS:
        assert f"| `{name}` |" in DOCS["settings.md"]


def test_each_method_of_a_client_is_in_the_docs() -> None:
    from stateous import AsyncClient, Client

    names = {name for name in vars(Client) if not name.startswith("_")}
    assert names == {name for name in vars(AsyncClient) if not name.startswith("_")}
    names -= {"send", "send_once"}  # they take calls, which are the supervisor's
    for name in names:
        assert re.search(rf"`(client\.)?{name}[(`]", DOCS["client.md"]), name


def test_each_part_of_a_context_is_in_the_docs() -> None:
    from stateous import Context

    for name in vars(Context):
        if not name.startswith("_"):
            assert f"`ctx.{name}" in DOCS["routines.md"], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_places_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, place = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        if place:
            assert place in places_of(linked), target


def places_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_the_docs_name_are_there(page: Path) -> None:
    named = r"`((?:stateous|supervisor|sql|migrations|tests|docs|examples|bench)/[\w/.-]+)`"
    for target in re.findall(named, page.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_pages_that_the_code_names_are_there() -> None:
    for source in sources(*SOURCES, "tests"):
        for name in re.findall(r"\bdocs/([\w-]+\.md)\b", source):
            assert name in DOCS, name


def test_the_readme_and_the_architecture_lead_to_the_pages() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in DOCS:
        assert f"(docs/{name})" in readme
    for name in ("http", "ledger", "graph-file", "guards", "routines", "client", "words"):
        assert f"(docs/{name}.md)" in architecture


def test_the_readme_reaches_a_running_workflow_within_40_lines() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any("stateous token history" in line for line in lines[:40])
    first = [line for line in lines if line.startswith("make ")]
    assert [line.split()[1] for line in first[:2]] == ["demo", "test"]
